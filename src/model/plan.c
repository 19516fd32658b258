#include "model/plan.h"

#include "base/index.h"

#include <assert.h>
#include <stdlib.h>

int adl_plan_create(struct adl_plan *ret, uint32_t cluster_gpus)
{
    /* Two jobs fit on a GPU: at most twice as many starts, and as many preemptions, as there are GPUs; a cap for each
     * GPU; and one wake. */
    struct adl_plan plan = {.command_capacity = 5 * cluster_gpus + 1, .gpu_capacity = 3 * cluster_gpus};
    plan.commands = calloc(plan.command_capacity, sizeof *plan.commands);
    plan.gpus = calloc(plan.gpu_capacity + 1, sizeof *plan.gpus);
    if (!plan.commands || !plan.gpus) {
        adl_plan_clear(&plan);
        return ADL_ENOMEM;
    }
    *ret = plan;
    return 0;
}

void adl_plan_clear(struct adl_plan *plan)
{
    free(plan->commands);
    free(plan->gpus);
    *plan = (struct adl_plan){0};
}

/* Room for a command, with no reason yet; NULL if the plan is full. */
static struct adl_command *append(struct adl_plan *plan, enum adl_command_kind kind, uint32_t job)
{
    if (plan->command_count == plan->command_capacity)
        return NULL;
    struct adl_command *command = &plan->commands[plan->command_count++];
    *command = (struct adl_command){.kind = (uint8_t)kind, .job = job, .reason.other = ADL_NONE};
    return command;
}

/* The same with the GPUs that the caller wrote. */
static struct adl_command *append_gpus(struct adl_plan *plan, enum adl_command_kind kind, uint32_t job,
                                       uint32_t gpu_count)
{
    if (gpu_count > plan->gpu_capacity - plan->gpu_count || gpu_count > UINT16_MAX)
        return NULL;
    struct adl_command *command = append(plan, kind, job);
    if (!command)
        return NULL;
    command->gpu_count = (uint16_t)gpu_count;
    command->gpu_offset = plan->gpu_count;
    plan->gpu_count += gpu_count;
    return command;
}

int adl_plan_start(struct adl_plan *plan, uint32_t job, uint32_t gpu_count)
{
    return append_gpus(plan, ADL_COMMAND_START, job, gpu_count) ? 0 : ADL_EREFUSED;
}

int adl_plan_cap(struct adl_plan *plan, uint32_t gpu_count, double power_w)
{
    struct adl_command *command = append_gpus(plan, ADL_COMMAND_CAP, ADL_NONE, gpu_count);
    if (command)
        command->power_w = power_w;
    return command ? 0 : ADL_EREFUSED;
}

int adl_plan_preempt(struct adl_plan *plan, uint32_t job)
{
    return append(plan, ADL_COMMAND_PREEMPT, job) ? 0 : ADL_EREFUSED;
}

int adl_plan_wake(struct adl_plan *plan, int64_t time_us)
{
    struct adl_command *command = append(plan, ADL_COMMAND_WAKE, 0);
    if (command)
        command->time_us = time_us;
    return command ? 0 : ADL_EREFUSED;
}

void adl_plan_drop(struct adl_plan *plan, uint32_t index)
{
    assert(index < plan->command_count && plan->commands[index].kind == ADL_COMMAND_PREEMPT);
    plan->command_count--;
    for (uint32_t i = index; i < plan->command_count; i++)
        plan->commands[i] = plan->commands[i + 1];
}
