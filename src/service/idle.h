/* idle: GPUs that a job holds and does not use: from when on they count as such, and what follows. */
#ifndef ADLRO_SERVICE_IDLE_H
#define ADLRO_SERVICE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct adl_idle_config {
    double below;      /* a GPU of lower utilization, 0..1, is not used */
    int64_t after_us;  /* unused for so long, it counts as idle; 0: nothing is looked for */
    bool stop;         /* a job all of whose GPUs are idle is stopped */
    int64_t notice_us; /* so long after it was given notice */
};

/* "40 s", "25 min", "3 h 05 min" */
#define ADL_IDLE_SPAN_SIZE 40
const char *adl_idle_span(int64_t us, char ret[ADL_IDLE_SPAN_SIZE]);

#endif
