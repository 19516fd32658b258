/* event: everything that can change a decision. A world produces events, a recording stores them, the state applies
 * them. */
#ifndef ADLRO_MODEL_EVENT_H
#define ADLRO_MODEL_EVENT_H

#include "model/job.h"

#include <stdbool.h>
#include <stdint.h>

enum adl_event_kind {
    ADL_EVENT_SUBMIT,   /* a job joins the queue */
    ADL_EVENT_FINISH,   /* a running job ended, for good */
    ADL_EVENT_EVICT,    /* a running job stopped and returned to the queue: preempted, or its GPU failed */
    ADL_EVENT_GPU_DOWN, /* it takes no more jobs; jobs on it that were not evicted before keep running */
    ADL_EVENT_GPU_UP,
    ADL_EVENT_TELEMETRY,
    ADL_EVENT_METER,       /* a GPU's energy counter */
    ADL_EVENT_PROGRESS,    /* a running job's speed since it was last reported */
    ADL_EVENT_WAKE,        /* the time that a plan's WAKE command asked for */
    ADL_EVENT_VERSION,     /* the driver or libraries of a GPU: when they are first known, and when they changed */
    ADL_EVENT_POWER_LIMIT, /* what all GPUs together may draw from now on */
    ADL_EVENT_KIND_COUNT,
};

/* What a world reports about a job that ended. */
struct adl_outcome {
    uint8_t end;      /* enum adl_job_end */
    double energy_j;  /* drawn by its share of its GPUs; 0 = unknown */
    int64_t run_us;   /* time it held GPUs, all attempts */
    int64_t ideal_us; /* run time alone on its fastest acceptable GPU type; policies see 0 */
    double steps;     /* work done; policies see 0 unless the job reported progress */
};

enum adl_reading {
    ADL_READ_UTILIZATION, /* 0..1 */
    ADL_READ_BANDWIDTH,   /* memory bandwidth used, 0..1 */
    ADL_READ_TEMPERATURE, /* degrees Celsius */
    ADL_READ_POWER,       /* W */
    ADL_READ_CLOCK,       /* relative to the highest, 0..1 */
    ADL_READ_SM,          /* from here on a profiling interface is needed: share of time an SM had work, 0..1 */
    ADL_READ_TENSOR,      /* the same of the tensor or matrix units */
    ADL_READ_DRAM,        /* the same of the memory interface */
    ADL_READ_PCIE,        /* GB/s, both ways */
    ADL_READ_NVLINK,      /* GB/s, both ways */
    ADL_READ_THROTTLED,   /* share of time the clock was throttled, 0..1 */
    ADL_READ_COUNT,
};

#define ADL_READ_COARSE (ADL_READ_CLOCK + 1) /* readings that every driver provides */

struct adl_telemetry {
    uint32_t missing; /* bit per reading: there is no value; value[] is then meaningless */
    float value[ADL_READ_COUNT];
};

#define ADL_VERSION_SIZE 32

/* Jobs are identified by slots: small numbers that the world assigns, unique among live jobs, and reuses after FINISH.
 * The core indexes its tables by them. */
struct adl_event {
    int64_t time_us;
    uint8_t kind; /* enum adl_event_kind */
    bool more;    /* another event of the same instant follows: decide after the last one */
    uint32_t job; /* slot; SUBMIT FINISH EVICT PROGRESS */
    uint32_t gpu; /* GPU_DOWN GPU_UP TELEMETRY METER VERSION */
    union {
        struct { /* SUBMIT */
            const struct adl_job_spec *spec;
            const int64_t *runtime_us;  /* [type] run time alone on the best placement there, if the world reveals it
                                         * (regime oracle); else NULL. 0 = does not run there. */
            const int64_t *spanning_us; /* [type] the same across nodes; NULL = the same as runtime_us. spec and both
                                         * live until the next call of next_event. */
            int64_t since_us;           /* when it was submitted, if that was before this event; else 0 */
        } submit;
        struct adl_outcome outcome; /* FINISH */
        struct {                    /* EVICT */
            double remaining;       /* share of the job's work still to do after its last checkpoint, if the world
                                     * reveals it (regime oracle): what a preemption adds to the work can make it more
                                     * than 1. Negative = not known: the engine passes on its prediction */
            bool fault;             /* a failure, not a preemption */
        } evict;
        struct adl_telemetry telemetry;
        double energy_j;        /* METER, since the run began */
        double limit_w;         /* POWER_LIMIT; 0 = there is none */
        struct {                /* PROGRESS */
            double steps_per_s; /* of all its GPUs together, measured while nothing about them changed: neither the
                                 * neighbours on them nor how fast they are */
            double steps_left;  /* as the job says; 0 = it does not say */
        };
        char version[ADL_VERSION_SIZE]; /* VERSION: "550.54.15"; texts that differ are different versions */
    };
};

const char *adl_event_kind_name(int kind);
int adl_event_kind_find(const char *name); /* -1 if there is none */
const char *adl_reading_name(int reading);

#endif
