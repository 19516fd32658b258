/* policy: scheduling policies from outside the program. A plugin is a shared object that defines one symbol,
 *
 *     const struct adlro_policy adlro_policy_plugin = {.abi = ADLRO_POLICY_ABI, .size = sizeof(struct adlro_policy),
 * ...};
 *
 * `adlro compare SCENARIO --policy-plugin ./mine.so --policies mine,easy` loads it and runs it beside the others.
 *
 * A policy sees what the scenario's information regime shows to every policy, and nothing else. It proposes; the engine
 * validates every proposal, and lets its guard decide where one is refused. Equal (options, seed, sequence of views)
 * must give equal proposals: no clock, no files, no global state. Several runs may be under way in several threads,
 * each with a policy object of its own. examples/policy_plugin.c is a complete policy, docs/policies.md explains. */
#ifndef ADLRO_POLICY_H
#define ADLRO_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a plugin has to be built again. Structs grow at their end only, without a new version. */
#define ADLRO_POLICY_ABI 1

#define ADLRO_POLICY_NAME_SIZE 48
#define ADLRO_POLICY_TEXT_SIZE 128

/* A type of GPU of the cluster; types are numbered from 0. */
struct adlro_policy_type {
    size_t size; /* set by the plugin: sizeof of this struct */
    char name[ADLRO_POLICY_NAME_SIZE];
    uint32_t gpus;      /* in the cluster */
    uint32_t free_gpus; /* that hold no job and are not down */
    int32_t memory_mib; /* of each */
};

/* A waiting or running job. Times are microseconds. */
struct adlro_policy_job {
    size_t size;     /* set by the plugin: sizeof of this struct */
    uint32_t handle; /* names the job in this call */
    uint64_t id;     /* stays the same as long as the job lives */
    uint32_t user;
    uint32_t gpus;
    uint32_t types;      /* mask of the GPU types that it may and can run on */
    double priority;     /* 0 to 1 */
    int64_t age_us;      /* since its submission */
    int64_t waited_us;   /* of that, without GPUs */
    int64_t limit_us;    /* the time that its user asked for */
    int64_t running_us;  /* since this attempt began; 0 while it waits */
    uint32_t type;       /* of its GPUs, while it runs */
    uint8_t preemptible; /* 1: it may be stopped and started again */
    uint8_t stopping;    /* 1: it was told to stop and still holds its GPUs */
};

/* What a policy sees and what it can do, during one call of decide(). */
struct adlro_policy_view {
    size_t size;
    int64_t now_us;
    uint32_t type_count;
    uint32_t waiting_count; /* in order of submission, less what priority is worth */
    uint32_t running_count; /* those that are being stopped included */

    /* Fill *ret; 0, or -1 if there is no such type or job. */
    int (*type)(const struct adlro_policy_view *view, uint32_t type, struct adlro_policy_type *ret);
    int (*waiting)(const struct adlro_policy_view *view, uint32_t index, struct adlro_policy_job *ret);
    int (*running)(const struct adlro_policy_view *view, uint32_t index, struct adlro_policy_job *ret);

    /* Predicted time to run the rest of a job on GPUs of a type; -1 if it cannot run there. What is predicted, and how
     * well, is the same for every policy. */
    int64_t (*predicted_us)(const struct adlro_policy_view *view, uint32_t handle, uint32_t type);

    /* Proposes to start a waiting job on free GPUs of one of the types of the mask, the fastest for it first. 1: it
     * fits and is proposed; 0: it does not fit now, or a start was proposed already. One start a call: the policy is
     * called again when it has been carried out, until it proposes nothing. */
    int (*start)(const struct adlro_policy_view *view, uint32_t handle, uint32_t types);

    /* Proposes to stop a running job, which returns to the queue. 1: proposed; 0: it cannot be stopped. Its GPUs are
     * free when it has written its checkpoint, and then decide() is called. */
    int (*stop)(const struct adlro_policy_view *view, uint32_t handle);

    /* Asks to be called at this time, if nothing happens before. */
    void (*wake)(const struct adlro_policy_view *view, int64_t time_us);
};

enum adlro_policy_option_type {
    ADLRO_POLICY_BOOL,    /* uint8_t, 0 or 1 */
    ADLRO_POLICY_INTEGER, /* int64_t */
    ADLRO_POLICY_REAL,    /* double */
    ADLRO_POLICY_WORD,    /* int, an index into words */
    ADLRO_POLICY_TEXT,    /* char[ADLRO_POLICY_TEXT_SIZE] */
};

/* An option, set with --set NAME.OPTION=VALUE or in a variant. */
struct adlro_policy_option {
    const char *name;
    int type;                 /* enum adlro_policy_option_type */
    size_t offset;            /* into the plugin's struct of options */
    const char *value;        /* the default, as people write it */
    double least, most;       /* INTEGER, REAL */
    const char *const *words; /* WORD: ends with NULL */
    const char *help;         /* one line */
    const char *source;       /* where it comes from, or NULL */
};

struct adlro_policy {
    uint32_t abi;        /* ADLRO_POLICY_ABI */
    uint32_t size;       /* sizeof(struct adlro_policy) */
    const char *name;    /* letters, digits, _ and - */
    const char *summary; /* one line */
    const struct adlro_policy_option *options;
    uint32_t option_count;
    uint32_t option_size; /* sizeof(struct adlro_policy_option) */
    size_t options_size;  /* of the struct that the options fill */

    /* A policy for one run; NULL if there is no memory. options: the struct, filled; it stays until destroy(). */
    void *(*create)(const void *options, uint64_t seed);
    void (*destroy)(void *policy);

    /* Called when something has changed. 0, or negative to end the run as failed. */
    int (*decide)(void *policy, const struct adlro_policy_view *view);
};

#ifdef __cplusplus
}
#endif

#endif
