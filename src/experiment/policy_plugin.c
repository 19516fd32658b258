#include "experiment/policy_plugin.h"

#include "base/suggest.h"
#include "experiment/policy_program.h"
#include "policy/mechanism/placement.h"

#include <adlro/policy.h>

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL "adlro_policy_plugin"

_Static_assert(ADLRO_POLICY_NAME_SIZE == ADL_NAME_SIZE, "names of GPU types are cut");
_Static_assert(ADLRO_POLICY_TEXT_SIZE == ADL_POLICY_TEXT_SIZE, "texts of options are cut");
_Static_assert(sizeof(bool) == sizeof(uint8_t), "options that are true or false have another size");

struct adl_policy_plugin {
    void *library;    /* NULL: it is a program */
    const char *path; /* of the program */
    char name[ADL_NAME_SIZE], summary[ADL_NAME_SIZE + 32];
    struct adlro_policy program;
    const struct adlro_policy *policy; /* of the library, or the program's */
    struct adl_policy_option *options; /* as the program has them */
    struct adl_policy_ops ops;         /* its context is this plugin */
};

/* A policy of a plugin in one run. */
struct guest {
    const struct adlro_policy *policy;
    void *self;
    void *options;
    uint32_t *waiting, *running; /* slots, listed for each call */
    size_t waiting_capacity, running_capacity;
};

/* A call of decide(). */
struct call {
    struct adlro_policy_view view; /* first: what the plugin is given */
    const struct guest *guest;
    const struct adl_state *state;
    struct adl_plan *plan;
    bool *started; /* a start was proposed */
};

/* ---- what the plugin sees ---- */

static const struct call *call_of(const struct adlro_policy_view *view)
{
    return (const struct call *)(const void *)view;
}

/* As much of a struct as the plugin knows. */
static int give(void *ret, size_t size, const void *from, size_t have)
{
    if (size < sizeof size)
        return -1;
    memcpy(ret, from, size < have ? size : have);
    memcpy(ret, &size, sizeof size);
    return 0;
}

static int view_type(const struct adlro_policy_view *view, uint32_t type, struct adlro_policy_type *ret)
{
    const struct adl_state *state = call_of(view)->state;
    if (type >= state->cluster->type_count)
        return -1;
    struct adlro_policy_type it = {.gpus = state->cluster->type_gpus[type],
                                   .free_gpus = state->pool.free_gpus[type],
                                   .memory_mib = state->cluster->types[type].memory_mib};
    memcpy(it.name, state->cluster->types[type].name, sizeof it.name);
    return give(ret, ret->size, &it, sizeof it);
}

static int give_job(const struct adl_state *state, uint32_t slot, struct adlro_policy_job *ret)
{
    const struct adl_job *job = &state->jobs[slot];
    const bool holds = job->phase != ADL_PHASE_PENDING;
    const int64_t running_us = holds ? state->now_us - job->start_us : 0;
    const struct adlro_policy_job it = {.handle = slot,
                                        .id = job->spec.id,
                                        .user = job->spec.user,
                                        .gpus = job->spec.gpus,
                                        .types = job->eligible,
                                        .priority = (double)job->spec.priority,
                                        .age_us = state->now_us - job->submit_us,
                                        .waited_us = adl_state_waited_us(state, slot) - running_us,
                                        .limit_us = job->spec.limit_us,
                                        .running_us = running_us,
                                        .type = holds ? job->type : 0,
                                        .preemptible = (job->spec.flags & ADL_JOB_PREEMPTIBLE) != 0,
                                        .stopping = job->phase == ADL_PHASE_STOPPING};
    return give(ret, ret->size, &it, sizeof it);
}

static int view_waiting(const struct adlro_policy_view *view, uint32_t index, struct adlro_policy_job *ret)
{
    const struct call *call = call_of(view);
    return index < view->waiting_count ? give_job(call->state, call->guest->waiting[index], ret) : -1;
}

static int view_running(const struct adlro_policy_view *view, uint32_t index, struct adlro_policy_job *ret)
{
    const struct call *call = call_of(view);
    return index < view->running_count ? give_job(call->state, call->guest->running[index], ret) : -1;
}

static bool is_live(const struct adl_state *state, uint32_t slot)
{
    return slot < state->job_capacity && state->jobs[slot].phase != ADL_PHASE_NONE;
}

static int64_t view_predicted_us(const struct adlro_policy_view *view, uint32_t handle, uint32_t type)
{
    const struct adl_state *state = call_of(view)->state;
    if (!is_live(state, handle) || type >= state->cluster->type_count || !(state->jobs[handle].eligible >> type & 1))
        return -1;
    return adl_state_remaining_us(state, handle, type);
}

/* ---- what it proposes ---- */

static int view_start(const struct adlro_policy_view *view, uint32_t handle, uint32_t types)
{
    const struct call *call = call_of(view);
    const struct adl_placement_request request = {.types = types, .fastest = true};
    if (*call->started || !is_live(call->state, handle) || call->state->jobs[handle].phase != ADL_PHASE_PENDING ||
        !adl_placement_start(call->state, handle, &request, call->plan))
        return 0;
    adl_plan_because(call->plan, adl_reason_make(ADL_RULE_AGENT, ADL_NONE, 0, 0));
    *call->started = true;
    return 1;
}

static bool is_planned(const struct adl_plan *plan, uint32_t slot)
{
    for (uint32_t i = 0; i < plan->command_count; i++)
        if (plan->commands[i].kind == ADL_COMMAND_PREEMPT && plan->commands[i].job == slot)
            return true;
    return false;
}

static int view_stop(const struct adlro_policy_view *view, uint32_t handle)
{
    const struct call *call = call_of(view);
    if (!is_live(call->state, handle) || call->state->jobs[handle].phase != ADL_PHASE_RUNNING ||
        !(call->state->jobs[handle].spec.flags & ADL_JOB_PREEMPTIBLE) || is_planned(call->plan, handle) ||
        adl_plan_preempt(call->plan, handle))
        return 0;
    adl_plan_because(call->plan, adl_reason_make(ADL_RULE_FOR_PLUGIN, handle, 0, 0));
    return 1;
}

static void view_wake(const struct adlro_policy_view *view, int64_t time_us)
{
    const struct call *call = call_of(view);
    if (time_us > call->state->now_us)
        adl_plan_wake(call->plan, time_us);
}

/* ---- the policy of the engine ---- */

static void destroy(void *policy)
{
    struct guest *guest = policy;
    if (!guest)
        return;
    if (guest->self && guest->policy->destroy)
        guest->policy->destroy(guest->self);
    free(guest->options);
    free(guest->waiting);
    free(guest->running);
    free(guest);
}

static int begin(const struct adl_policy_plugin *plugin, struct guest *guest, uint64_t seed, struct adl_error *err)
{
    struct adl_policy_program *program = NULL;
    if (!plugin->path) {
        guest->self = plugin->policy->create(guest->options, seed);
        return 0;
    }
    const int status = adl_policy_program_start(plugin->path, seed, &program, err);
    guest->self = program;
    return status;
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)cluster;
    const struct adl_policy_plugin *plugin = config->ops->context;
    struct guest *guest = calloc(1, sizeof *guest);
    int status = 0;
    if (guest) {
        guest->policy = plugin->policy;
        guest->options = malloc(plugin->policy->options_size + 1);
    }
    if (guest && guest->options) {
        if (plugin->policy->options_size > 0)
            memcpy(guest->options, config->options, plugin->policy->options_size);
        status = begin(plugin, guest, seed, err);
    }
    if (!guest || !guest->self) {
        destroy(guest);
        return status ? status : adl_fail(err, ADL_ENOMEM, "out of memory for policy %s", plugin->policy->name);
    }
    *ret_policy = guest;
    return 0;
}

static int list_jobs(struct guest *guest, const struct adl_state *state, struct adlro_policy_view *view)
{
    if (adl_grow((void **)&guest->waiting, &guest->waiting_capacity, (size_t)state->queue.count + 1,
                 sizeof(uint32_t)) ||
        adl_grow((void **)&guest->running, &guest->running_capacity, (size_t)state->running_jobs + 1, sizeof(uint32_t)))
        return ADL_ENOMEM;
    adl_walk_begin(&state->queue);
    for (uint32_t slot; (slot = adl_walk_job(&state->queue)) != ADL_NONE; adl_walk_next(&state->queue))
        guest->waiting[view->waiting_count++] = slot;
    for (uint32_t slot = 0; slot < state->job_capacity && view->running_count < state->running_jobs; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_RUNNING || state->jobs[slot].phase == ADL_PHASE_STOPPING)
            guest->running[view->running_count++] = slot;
    return 0;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct guest *guest = policy;
    bool started = false;
    struct call call = {.view = {.size = sizeof call.view,
                                 .now_us = state->now_us,
                                 .type_count = state->cluster->type_count,
                                 .type = view_type,
                                 .waiting = view_waiting,
                                 .running = view_running,
                                 .predicted_us = view_predicted_us,
                                 .start = view_start,
                                 .stop = view_stop,
                                 .wake = view_wake},
                        .guest = guest,
                        .state = state,
                        .plan = plan,
                        .started = &started};
    const int status = list_jobs(guest, state, &call.view);
    return status ? status : guest->policy->decide(guest->self, &call.view) < 0 ? ADL_EIO : 0;
}

/* ---- loading ---- */

static const char *name_fault(const char *name)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (!name || !*name || strlen(name) >= ADL_NAME_SIZE || name[strspn(name, letters)])
        return "its name must be letters, digits, _ and -";
    return adl_policy_find(name) ? "the program has a policy of this name" : NULL;
}

static const char *fault_of(const struct adlro_policy *policy)
{
    if (!policy->summary || !policy->create || !policy->decide)
        return "it lacks summary, create or decide";
    if (policy->option_count > 0 && (!policy->options || policy->option_size < sizeof *policy->options))
        return "it lacks its table of options, or option_size is wrong";
    return name_fault(policy->name);
}

static size_t size_of(int type)
{
    static const size_t sizes[] = {[ADLRO_POLICY_BOOL] = sizeof(bool),
                                   [ADLRO_POLICY_INTEGER] = sizeof(int64_t),
                                   [ADLRO_POLICY_REAL] = sizeof(double),
                                   [ADLRO_POLICY_WORD] = sizeof(int),
                                   [ADLRO_POLICY_TEXT] = ADLRO_POLICY_TEXT_SIZE};
    return type >= 0 && type <= ADLRO_POLICY_TEXT ? sizes[type] : 0;
}

_Static_assert((int)ADLRO_POLICY_BOOL == (int)ADL_POLICY_BOOL && (int)ADLRO_POLICY_TEXT == (int)ADL_POLICY_TEXT &&
                   (int)ADLRO_POLICY_WORD == (int)ADL_POLICY_WORD && (int)ADLRO_POLICY_REAL == (int)ADL_POLICY_REAL &&
                   (int)ADLRO_POLICY_INTEGER == (int)ADL_POLICY_INTEGER,
               "types of options differ");

static int take_option(const struct adlro_policy *policy, uint32_t index, struct adl_policy_option *ret,
                       struct adl_error *err)
{
    struct adlro_policy_option from;
    char reason[ADL_POLICY_REASON_SIZE] = "";
    memcpy(&from, (const char *)policy->options + (size_t)index * policy->option_size, sizeof from);
    const size_t size = size_of(from.type);
    const bool whole = from.name && *from.name && strlen(from.name) < ADL_NAME_SIZE && !strpbrk(from.name, ".=\n") &&
                       from.value && from.help && size > 0 && from.offset + size <= policy->options_size &&
                       (from.type != ADLRO_POLICY_WORD || (from.words && from.words[0]));
    *ret = (struct adl_policy_option){.name = from.name,
                                      .type = (uint8_t)from.type,
                                      .offset = from.offset,
                                      .value = from.value,
                                      .range = {.min = from.least, .max = from.most},
                                      .words = from.words,
                                      .help = from.help,
                                      .source = from.source};
    if (whole && adl_policy_option_check(ret, from.value, NULL, reason))
        return 0;
    return adl_fail(err, ADL_EINVAL, "option %u (%.40s): %s%s", index, from.name ? from.name : "no name",
                    whole ? "its default " : "it is not complete, or lies outside options_size", reason);
}

static int take_options(struct adl_policy_plugin *plugin, struct adl_error *err)
{
    const struct adlro_policy *policy = plugin->policy;
    plugin->options = calloc((size_t)policy->option_count + 1, sizeof *plugin->options);
    if (!plugin->options)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    int status = 0;
    for (uint32_t i = 0; i < policy->option_count && status == 0; i++)
        status = take_option(policy, i, &plugin->options[i], err);
    return status;
}

static int check(struct adl_policy_plugin *plugin, struct adl_error *err)
{
    const struct adlro_policy *policy = plugin->policy;
    if (!policy)
        return adl_fail(err, ADL_EINVAL, "it does not define %s (adlro/policy.h says how)", SYMBOL);
    if (policy->abi != ADLRO_POLICY_ABI)
        return adl_fail(err, ADL_EINVAL,
                        "it was made for version %u of adlro/policy.h, this program has version %d: build it again",
                        policy->abi, ADLRO_POLICY_ABI);
    if (policy->size < sizeof *policy)
        return adl_fail(err, ADL_EINVAL, "its struct adlro_policy has %u bytes, %zu are needed: build it again",
                        policy->size, sizeof *policy);
    const char *fault = fault_of(policy);
    return fault ? adl_fail(err, ADL_EINVAL, "%s", fault) : take_options(plugin, err);
}

static void fill_ops(struct adl_policy_plugin *plugin)
{
    assert(plugin->policy);
    plugin->ops = (struct adl_policy_ops){.name = plugin->policy->name,
                                          .summary = plugin->policy->summary,
                                          .options = plugin->options,
                                          .option_count = plugin->policy->option_count,
                                          .options_size = plugin->policy->options_size,
                                          .context = plugin,
                                          .create = create,
                                          .destroy = destroy,
                                          .decide = decide};
}

static int load_library(const char *path, struct adl_policy_plugin *plugin, struct adl_error *err)
{
    char here[4096];
    snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path); /* not a name to be searched for */
    plugin->library = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->library)
        return adl_fail(err, ADL_EINVAL, "%.200s", dlerror());
    plugin->policy = dlsym(plugin->library, SYMBOL);
    return check(plugin, err);
}

/* ---- programs ---- */

static int decide_program(void *program, const struct adlro_policy_view *view)
{
    return adl_policy_program_decide(program, view);
}

static void end_program(void *program)
{
    adl_policy_program_end(program);
}

/* The policy is called as the file is, without its folder and ending. */
static int load_program(const char *path, struct adl_policy_plugin *plugin, struct adl_error *err)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *fault = adl_policy_program_fault(path);
    if (fault)
        return adl_fail(err, ADL_EINVAL, "%s", fault);
    snprintf(plugin->name, sizeof plugin->name, "%.*s", (int)strcspn(base, "."), base);
    snprintf(plugin->summary, sizeof plugin->summary, "the program %.40s", base);
    plugin->path = path;
    plugin->program = (struct adlro_policy){
        .name = plugin->name, .summary = plugin->summary, .destroy = end_program, .decide = decide_program};
    plugin->policy = &plugin->program;
    fault = name_fault(plugin->name);
    return fault ? adl_fail(err, ADL_EINVAL, "the policy is called '%s', as its file: %s", plugin->name, fault) : 0;
}

static bool is_library(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".so") == 0;
}

int adl_policy_plugin_load(const char *path, struct adl_policy_plugin **ret, struct adl_error *err)
{
    struct adl_policy_plugin *plugin = calloc(1, sizeof *plugin);
    struct adl_error inner = {{0}};
    if (!plugin)
        return adl_fail(err, ADL_ENOMEM, "out of memory for a plugin");
    const int status = is_library(path) ? load_library(path, plugin, &inner) : load_program(path, plugin, &inner);
    if (status) {
        adl_policy_plugin_unload(plugin);
        return adl_fail(err, status, "%.150s: %s", path, inner.text);
    }
    fill_ops(plugin);
    *ret = plugin;
    return 0;
}

void adl_policy_plugin_unload(struct adl_policy_plugin *plugin)
{
    if (!plugin)
        return;
    free(plugin->options);
    if (plugin->library)
        dlclose(plugin->library);
    free(plugin);
}

const struct adl_policy_ops *adl_policy_plugin_ops(const struct adl_policy_plugin *plugin)
{
    return &plugin->ops;
}
