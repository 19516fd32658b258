/* environment_policy: what a policy would do in an environment: it decides on a copy of the state, and the environment
 * stays as it is. */
#include "rl/environment_internal.h"

#include "experiment/run.h"

#include <stdlib.h>
#include <string.h>

/* The policy in an engine of its own, on a world in which it is now and nothing else happens. */
struct adl_environment_advisor {
    struct adl_engine *engine;
    const struct adl_environment_cell *cell; /* that is asked about */
    bool asked;
    bool acts;      /* it starts or stops a job */
    int32_t action; /* the first of its starts that is offered; -1: none is */
};

/* ---- the world ---- */

static int wake(void *self, struct adl_event *ret, struct adl_error *err)
{
    (void)err;
    struct adl_environment_advisor *advisor = self;
    if (advisor->asked)
        return 0;
    advisor->asked = true;
    *ret = (struct adl_event){.time_us = adl_engine_state(advisor->cell->engine)->now_us,
                              .kind = ADL_EVENT_WAKE,
                              .job = ADL_NONE,
                              .gpu = ADL_NONE};
    return 1;
}

static int32_t find_action(const struct adl_actions *actions, uint32_t job, uint32_t type)
{
    for (uint32_t i = 0; i < actions->count; i++)
        if (!actions->list[i].waits && actions->list[i].job == job && actions->list[i].type == type)
            return (int32_t)i;
    return -1;
}

static int note(void *self, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    (void)err;
    struct adl_environment_advisor *advisor = self;
    const struct adl_state *state = adl_engine_state(advisor->cell->engine);
    if (command->kind == ADL_COMMAND_START && advisor->action < 0)
        advisor->action = find_action(advisor->cell->actions, command->job, adl_gpu_type_of(state->cluster, gpus[0]));
    advisor->acts |= command->kind == ADL_COMMAND_START || command->kind == ADL_COMMAND_PREEMPT;
    return 0;
}

static const struct adl_world_ops question = {.name = "question", .next_event = wake, .submit = note};

/* ---- advisors ---- */

static int create(const struct adlro_environment *env, const struct adl_policy_ops *policy,
                  struct adl_environment_advisor **ret, struct adl_error *err)
{
    struct adl_environment_advisor *advisor = calloc(1, sizeof *advisor);
    if (!advisor)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy %s", policy->name);
    const struct adl_engine_config engine = {.cluster = &env->scenario->cluster,
                                             .policy = policy,
                                             .policy_config = adl_run_policy_config(env->scenario),
                                             .learned = env->regime == ADL_REGIME_LEARNED,
                                             .world_ops = &question,
                                             .world = advisor};
    const int status = adl_engine_create(&engine, &advisor->engine, err);
    if (status)
        free(advisor);
    else
        *ret = advisor;
    return status;
}

/* The advisor of this name, created at its first question. */
static int find_advisor(struct adlro_environment *env, const char *name, struct adl_environment_advisor **ret,
                        struct adl_error *err)
{
    const struct adl_policy_ops *policy = adl_policy_find(name);
    uint32_t i = 0;
    if (!policy)
        return adl_fail(err, ADL_EINVAL, "there is no policy '%.60s'; `adlro policies` lists them", name);
    while (i < ADL_ADVISORS_MAX && env->advisors[i] && adl_engine_config(env->advisors[i]->engine)->policy != policy)
        i++;
    if (env->observation == ADL_OBSERVATION_PLAIN && !policy->points_only)
        return adl_fail(
            err, ADL_EINVAL,
            "policy %s reads distributions of run times, which observation plain does not keep; ask it in an "
            "environment with another observation",
            policy->name);
    if (i == ADL_ADVISORS_MAX)
        return adl_fail(err, ADL_EINVAL, "at most %d policies can be asked in one environment", ADL_ADVISORS_MAX);
    if (!env->advisors[i]) {
        const int status = create(env, policy, &env->advisors[i], err);
        if (status)
            return status;
    }
    *ret = env->advisors[i];
    return 0;
}

void adl_environment_dismiss(struct adlro_environment *env)
{
    for (uint32_t i = 0; i < ADL_ADVISORS_MAX && env->advisors[i]; i++) {
        adl_engine_destroy(env->advisors[i]->engine);
        free(env->advisors[i]);
        env->advisors[i] = NULL;
    }
}

/* ---- the question ---- */

static int32_t find_wait(const struct adl_actions *actions)
{
    const uint32_t last = actions->count - 1;
    return actions->count > 0 && actions->list[last].waits ? (int32_t)last : -1;
}

static int ask(struct adl_environment_advisor *advisor, const struct adl_environment_cell *cell, int32_t *ret,
               struct adl_error *err)
{
    advisor->cell = cell;
    advisor->asked = advisor->acts = false;
    advisor->action = -1;
    int status = adl_engine_adopt(advisor->engine, cell->engine, err);
    if (status == 0)
        status = adl_engine_step(advisor->engine, err);
    if (status < 0)
        return status;
    *ret = advisor->acts ? advisor->action : find_wait(cell->actions);
    return 0;
}

int adlro_policy_action(struct adlro_environment *env, uint32_t index, const char *policy, int32_t *ret,
                        char error[ADLRO_ERROR_SIZE])
{
    struct adl_error err = {{0}};
    struct adl_environment_advisor *advisor = NULL;
    int status = 0;
    if (index >= env->shape.count)
        status = adl_fail(&err, ADL_EINVAL, "environment %u of %u", index, env->shape.count);
    else if (env->cells[index].done)
        status = adl_fail(&err, ADL_EINVAL, "environment %u has ended its episode; reset it", index);
    if (status == 0)
        status = find_advisor(env, policy, &advisor, &err);
    if (status == 0 && advisor)
        status = ask(advisor, &env->cells[index], ret, &err);
    return adl_environment_report(&err, status, error);
}
