/* change: a change of a state, as people write it: "+a100", "2xa100:8", the name of a node. */
#ifndef ADLRO_TWIN_CHANGE_H
#define ADLRO_TWIN_CHANGE_H

#include "twin/whatif.h"

/* NULL, 0 or negative = stays as it is. */
struct adl_change_words {
    const char *types;     /* "+a100": as well; "a100|v100": instead */
    int64_t gpus;          /* 0 = as it is */
    int64_t limit_s;       /* 0 = as it is */
    double priority;       /* 0 to 1; negative = as it is */
    const char *add_nodes; /* "2xa100:8": two nodes, each with eight of them */
    const char *drain;     /* a node ... */
    int64_t drain_us;      /* ... from this time of the engine on */
    int64_t drain_in_us;   /* the same from now on, for the change's text */
    const struct adl_policy_ops *policy;
    struct adl_policy_config policy_config;
};

bool adl_change_words_any(const struct adl_change_words *words);
bool adl_change_words_of_job(const struct adl_change_words *words); /* some of them change a job's request */

/* ADL_EINVAL with what would be right. The change has its text. */
int adl_change_read(const struct adl_change_words *words, const struct adl_cluster *cluster, struct adl_change *ret,
                    struct adl_error *err);

#endif
