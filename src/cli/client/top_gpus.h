/* top_gpus: the GPUs that `adlro top` lists, in the chosen order, and how they were used lately. */
#ifndef ADLRO_CLI_CLIENT_TOP_GPUS_H
#define ADLRO_CLI_CLIENT_TOP_GPUS_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct cJSON;

enum adl_top_sort { ADL_TOP_BUSY, ADL_TOP_NUMBER, ADL_TOP_MEMORY, ADL_TOP_POWER, ADL_TOP_HEAT, ADL_TOP_SORTS };
extern const char *const adl_top_sort_names[];

struct adl_top_gpu {
    const struct cJSON *node, *gpu;
    double key; /* greatest first */
    int number;
};

/* Those whose node, type, state or jobs have the text, "" = all, in order; *ret is the caller's to free. */
int adl_top_gpus_list(const struct cJSON *cluster, int sort, const char *filter, struct adl_top_gpu **ret);

/* Whether a name, user, label, state or reason of a job has the text. */
bool adl_top_job_matches(const struct cJSON *job, const char *filter);

/* The last utilizations of each GPU, by its number. A zeroed one is empty. */
#define ADL_TOP_HISTORY 12
struct adl_top_history {
    uint8_t (*levels)[ADL_TOP_HISTORY]; /* [gpu] 0 = not known, 1 = idle, .. 8 = busy; the last one is now */
    uint32_t gpus;
};

void adl_top_history_add(struct adl_top_history *history, const struct cJSON *cluster);
void adl_top_history_clear(struct adl_top_history *history);
/* Twelve characters; utf8: as bars, else as digits. */
void adl_top_history_put(struct adl_text *text, const struct adl_top_history *history, int gpu, bool utf8);

#endif
