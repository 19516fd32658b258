/* plan: a policy's decision, as commands to the world, in order. */
#ifndef ADLRO_MODEL_PLAN_H
#define ADLRO_MODEL_PLAN_H

#include "base/error.h"
#include "model/reason.h"

#include <stddef.h>
#include <stdint.h>

enum adl_command_kind {
    ADL_COMMAND_START,   /* run a queued job on these GPUs */
    ADL_COMMAND_PREEMPT, /* stop a running job; the world answers with EVICT when its GPUs are free */
    ADL_COMMAND_WAKE,    /* send a WAKE event at time_us */
    ADL_COMMAND_CAP,     /* cap each of these GPUs at power_w from now on */
};

#define ADL_CAP_LEAST 0.3 /* of a type's max_w: drivers accept no lower limit */

struct adl_command {
    uint8_t kind;
    uint16_t gpu_count;
    uint32_t job;
    uint32_t gpu_offset; /* START, CAP: its GPUs are plan->gpus[gpu_offset .. gpu_offset + gpu_count - 1] */
    union {
        int64_t time_us; /* WAKE */
        double power_w;  /* CAP: ADL_CAP_LEAST of the type's max_w to all of it; 0 = no cap */
    };
    struct adl_reason reason; /* START, PREEMPT: why; not part of the decision */
};

/* Has room to allocate and cap every GPU and to stop every running job: a plan never grows after it was created. */
struct adl_plan {
    struct adl_command *commands;
    uint32_t *gpus;
    uint32_t command_count, command_capacity;
    uint32_t gpu_count, gpu_capacity;
    bool reasons_unread; /* nobody reads why: a policy may leave reasons out */
};

int adl_plan_create(struct adl_plan *ret, uint32_t cluster_gpus); /* 0 or ADL_ENOMEM */
void adl_plan_clear(struct adl_plan *plan);                       /* frees; accepts a zeroed one */

static inline void adl_plan_reset(struct adl_plan *plan)
{
    plan->command_count = 0;
    plan->gpu_count = 0;
}

/* Where to write the GPUs of the next START or CAP, room for gpu_count of them; NULL if the plan is full. */
static inline uint32_t *adl_plan_gpus(struct adl_plan *plan, uint32_t gpu_count)
{
    return gpu_count <= plan->gpu_capacity - plan->gpu_count ? &plan->gpus[plan->gpu_count] : NULL;
}

/* Each is 0, or ADL_EREFUSED if the plan is full. */
int adl_plan_start(struct adl_plan *plan, uint32_t job, uint32_t gpu_count); /* GPUs already written by the caller */
int adl_plan_preempt(struct adl_plan *plan, uint32_t job);
int adl_plan_wake(struct adl_plan *plan, int64_t time_us);
int adl_plan_cap(struct adl_plan *plan, uint32_t gpu_count, double power_w); /* GPUs already written by the caller */

/* Removes a PREEMPT from the plan; later commands keep their order. */
void adl_plan_drop(struct adl_plan *plan, uint32_t index);

/* What is recorded of an instant's decision. */
struct adl_recorded {
    uint64_t hash;    /* of its commands */
    uint64_t reasons; /* of their reasons: adl_command_hash_reason from 0 on */
    bool reasoned;    /* reasons was recorded; old recordings have none */
};

/* Over the reasons of starts and stops; other commands have none. */
static inline uint64_t adl_command_hash_reason(uint64_t hash, const struct adl_command *command)
{
    const bool has = command->kind == ADL_COMMAND_START || command->kind == ADL_COMMAND_PREEMPT;
    return has ? adl_reason_hash(hash, &command->reason) : hash;
}

/* Sets the reason of the last command. Every START and PREEMPT of a policy has one. */
static inline void adl_plan_because(struct adl_plan *plan, struct adl_reason reason)
{
    plan->commands[plan->command_count - 1].reason = reason;
}

#endif
