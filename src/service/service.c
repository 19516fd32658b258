#include "service/service_internal.h"

#include "base/json.h"
#include "executor/local/executor_local.h"
#include "executor/sim/executor_sim.h"
#include "experiment/run.h"
#include "service/questions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUESTS_MAX 65536
#define EVENTS_KEPT  4096

static int64_t shared_now(const struct adl_service_state *shared)
{
    return adl_service_clock_wall(shared->clock);
}

/* Each running job and each client takes a descriptor. Jobs keep the earlier limit, because some programs are slow or
 * fail with a high one. */
static void raise_limits(struct adl_service *service)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        service->file_limit = limit.rlim_cur < INT64_MAX ? (int64_t)limit.rlim_cur : INT64_MAX;
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* ---- construction ---- */

static int open_state(struct adl_service *service, struct adl_error *err)
{
    int status = adl_store_open(service->options.state, ADL_STORE_SERVE, &service->store, err);
    if (status)
        return status;
    char here[ADL_STORE_PATH_MAX] = "";
    const bool whole = service->options.state[0] == '/';
    if (!whole && !getcwd(here, sizeof here))
        return adl_fail(err, ADL_EIO, "the current folder cannot be read: %s", strerror(errno));
    const int size = snprintf(service->directory, sizeof service->directory, "%s%s%s", here, whole ? "" : "/",
                              service->options.state);
    if (size >= (int)sizeof service->directory - 64)
        return adl_fail(err, ADL_EINVAL, "the path of the state is too long: %.200s", service->options.state);
    return 0;
}

struct same_content {
    const void *content;
    size_t size;
    bool same;
};

static int compare_swap(void *context, const struct adl_store_swap *swap, struct adl_error *err)
{
    (void)err;
    struct same_content *it = context;
    it->same = swap->size == it->size && (it->size == 0 || memcmp(swap->content, it->content, it->size) == 0);
    return 0;
}

static int record(struct adl_service *service, int kind, const char *name, const void *content, size_t size,
                  struct adl_error *err)
{
    struct same_content it = {content, size, false};
    const int found = adl_store_swap_last(service->store, kind, compare_swap, &it, err);
    if (found < 0 || it.same)
        return found < 0 ? found : 0;
    const struct adl_store_swap swap = {.time_us = adl_service_clock_wall(&service->clock),
                                        .kind = (uint8_t)kind,
                                        .name = name,
                                        .content = content,
                                        .size = size};
    return adl_store_swap_append(service->store, &swap, err);
}

/* The store records each configuration that differs from the one before. */
int adl_service_record_config(struct adl_service *service, const struct adl_service_config *config,
                              struct adl_error *err)
{
    const char *path = service->options.config ? service->options.config : "(defaults)";
    const int status =
        record(service, ADL_SWAP_CONFIGURATION, path, config->text ? config->text : "", config->text_size, err);
    if (status || !config->model)
        return status;
    return record(service, ADL_SWAP_MODEL, config->model_path, config->model, config->model_size, err);
}

static int open_telemetry(struct adl_service *service, struct adl_telemetry_thread **ret, struct adl_error *err)
{
    const struct adl_service_config *config = &service->config;
    struct adl_telemetry_reader *reader = NULL;
    const struct adl_telemetry_options options = adl_service_telemetry(config, true);
    *ret = NULL;
    if (config->inventory.virtual && config->exporter_count == 0)
        return 0;
    int status = adl_telemetry_open(&options, &reader, err);
    if (status == 0)
        status = adl_telemetry_thread_create(reader, &config->inventory, options.interval_us, ret, err);
    return status;
}

/* The helper is started even if the policy may cap nothing now: a reload may allow it. */
static int open_caps(struct adl_service *service, struct adl_gpu_caps **ret, struct adl_error *err)
{
    const struct adl_service_config *config = &service->config;
    const struct adl_power_link_config link = {.helper = config->power.helper,
                                               .allow = config->power.allow,
                                               .state = service->powercap,
                                               .nvml = config->nvml,
                                               .sysfs = config->sysfs};
    *ret = NULL;
    snprintf(service->powercap, sizeof service->powercap, "%.*s/powercap", (int)sizeof service->powercap - 16,
             service->directory);
    return link.helper
               ? adl_gpu_caps_open(&link, &config->inventory, config->power.caps, config->power.cap_count, ret, err)
               : 0;
}

/* A program that is installed beside this one; empty if it is not. */
static void find_beside(const char *name, char *ret, size_t size)
{
    char path[ADL_STORE_PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        slash[1] = '\0';
    if (!slash || snprintf(ret, size, "%s%s", path, name) >= (int)size || access(ret, X_OK))
        ret[0] = '\0';
}

static int open_slurm(struct adl_service *service, struct adl_error *err)
{
    struct adl_service_config *config = &service->config;
    find_beside("adlro-slurm", service->adapter, sizeof service->adapter);
    if (!config->slurm.adapter)
        config->slurm.adapter = service->adapter[0] != '\0' ? service->adapter : "adlro-slurm";
    return adl_service_config_ask(config, &service->executor, err);
}

static int open_executor(struct adl_service *service, struct adl_error *err)
{
    const struct adl_service_config *config = &service->config;
    if (config->engine == ADL_ENGINE_SLURM)
        return open_slurm(service, err);
    if (config->engine == ADL_ENGINE_SIM)
        return adl_executor_sim_create(&config->inventory, config->seed, adl_service_clock_steady(&service->clock),
                                       &service->executor, err);
    find_beside("adlro-shepherd", service->shepherd, sizeof service->shepherd);
    struct adl_executor_local_config local = {.directory = service->directory,
                                              .store = service->store,
                                              .inventory = &config->inventory,
                                              .clock = &service->clock,
                                              .urgent_fd = adl_request_queue_fd(service->shared.request_queue),
                                              .socket = service->socket, /* set before a job starts */
                                              .shepherd = service->shepherd[0] != '\0' ? service->shepherd : NULL,
                                              .grace_us = (int64_t)(config->grace_s * 1e6),
                                              .cgroup = config->cgroup,
                                              .file_limit = service->file_limit,
                                              .avoid_foreign = config->avoid_foreign};
    int status = open_telemetry(service, &local.telemetry, err);
    if (status == 0)
        status = open_caps(service, &local.caps, err);
    if (status == 0)
        status = adl_executor_local_create(&local, &service->executor, err);
    if (status) {
        adl_telemetry_thread_destroy(local.telemetry);
        adl_gpu_caps_close(local.caps);
    }
    return status;
}

int adl_service_create_engine(struct adl_service *service, const struct adl_service_config *config,
                              const struct adl_policy_ops *policy, struct adl_engine **ret, struct adl_error *err)
{
    struct adl_engine_config engine = {.cluster = &service->config.inventory.scenario.cluster,
                                       .policy = policy,
                                       .policy_config = adl_run_policy_config(&config->inventory.scenario),
                                       .seed = config->seed,
                                       .learned = config->learned,
                                       .world_ops = &adl_live_ops,
                                       .world = service->live,
                                       .observers = {adl_snapshots_observer(service->shared.snapshots),
                                                     adl_forecasts_observer(service->shared.forecasts),
                                                     adl_shadowing_observer(service->shared.shadowing)},
                                       .observer_count = 3,
                                       .clock_ns = adl_clock_ns};
    if (config == &service->config)
        adl_service_set_promoted(service, policy, &engine.policy_config);
    return adl_engine_create(&engine, ret, err);
}

static int open_snapshots(struct adl_service *service, struct adl_error *err)
{
    const struct adl_scenario *scenario = &service->config.inventory.scenario;
    const struct adl_snapshots_config config = {.cluster = &scenario->cluster,
                                                .request_queue = service->shared.request_queue,
                                                .preemption = scenario->preemption,
                                                .kill_at_limit =
                                                    service->config.engine != ADL_ENGINE_SIM || scenario->kill_at_limit,
                                                .one_by_one = scenario->one_by_one};
    int status = adl_snapshots_create(&config, &service->shared.snapshots, err);
    if (status == 0)
        status = adl_forecasts_create(&service->config.forecast, &service->shared, &service->shared.forecasts, err);
    return status ? status : adl_shadowing_create(&service->shared, &service->shared.shadowing, err);
}

static int open_live(struct adl_service *service, struct adl_error *err)
{
    struct adl_service_state *shared = &service->shared;
    pthread_mutex_init(&shared->lock, NULL);
    pthread_mutex_init(&shared->turn, NULL);
    service->locked = true;
    shared->inventory = &service->config.inventory;
    shared->policy = service->config.policy;
    shared->private_jobs = service->config.private_jobs;
    shared->engine_name = service->executor.ops->name;
    shared->speed = service->clock.speed;
    shared->started_us = adl_service_clock_wall(&service->clock);
    shared->now_us = shared_now;
    shared->clock = &service->clock;
    shared->state_directory = service->directory;
    snprintf(shared->version, sizeof shared->version, "%s", ADL_VERSION);
    /* Event numbers above all earlier ones: no service publishes a million a second. */
    int status = adl_events_create(EVENTS_KEPT, (uint64_t)shared->started_us, &shared->events, err);
    const struct adl_live_config live = {.shared = shared,
                                         .store = service->store,
                                         .executor = service->executor,
                                         .clock = &service->clock,
                                         .jobs_max = service->config.jobs_max,
                                         .priority_max = service->config.priority_max,
                                         .time_limit_us = (int64_t)(service->config.time_limit_s * 1e6),
                                         .jobs_per_user = service->config.jobs_per_user,
                                         .bytes_per_user = (uint64_t)(service->config.mib_per_user * 1048576),
                                         .jobs_retention_us = (int64_t)(service->config.jobs_retention_days * 86400e6),
                                         .retention_us = (int64_t)(service->config.retention_days * 86400e6),
                                         .root_jobs = service->config.root_jobs,
                                         .any_user = geteuid() == 0 || service->config.engine != ADL_ENGINE_LOCAL,
                                         .no_submission = service->config.engine == ADL_ENGINE_SLURM,
                                         .advice_only = service->config.engine == ADL_ENGINE_SLURM &&
                                                        service->config.slurm.mode != ADL_SLURM_ACT,
                                         .reload = adl_service_read_again,
                                         .switch_policy = adl_service_switch_policy,
                                         .context = service,
                                         .say = service->options.say};
    if (status == 0)
        status = adl_live_create(&live, &service->live, err);
    if (status == 0) {
        adl_live_shadow_load(service->live);
        adl_live_power_load(service->live);
        adl_service_set_health(service);
        shared->policy = adl_service_wanted(service);
        status = adl_service_create_engine(service, &service->config, shared->policy, &shared->engine, err);
    }
    if (status == 0) {
        adl_live_belief_load(service->live, true);
        adl_live_recent_load(service->live);
        adl_live_health_begin(service->live);
        adl_service_state_lock(shared);
        status = adl_live_adopt(service->live, shared->engine, err);
        adl_service_state_unlock(shared);
    }
    return status;
}

/* Makes the folder of the default socket, which only the user may enter. */
static int make_socket_folder(const char *path, struct adl_error *err)
{
    char folder[108];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return 0;
    *slash = '\0';
    if (mkdir(folder, geteuid() == 0 ? 0755 : 0700) && errno != EEXIST)
        return adl_fail(err, ADL_EIO, "cannot make the folder of the socket, %s: %s", folder, strerror(errno));
    struct stat about;
    if (geteuid() != 0 && strncmp(folder, "/tmp/", 5) == 0 &&
        (lstat(folder, &about) || about.st_uid != geteuid() || !S_ISDIR(about.st_mode)))
        return adl_fail(err, ADL_EIO, "%s is not a folder of ours: give another --socket", folder);
    return 0;
}

static int open_http(struct adl_service *service, struct adl_error *err)
{
    const struct adl_service_config *config = &service->config;
    const struct adl_service_options *options = &service->options;
    const char *path = options->socket ? options->socket : config->socket;
    if (path && strlen(path) >= sizeof service->socket)
        return adl_fail(err, ADL_EINVAL, "the path of a socket has fewer than %zu bytes: %s", sizeof service->socket,
                        path);
    if (path)
        snprintf(service->socket, sizeof service->socket, "%s", path);
    else
        adl_service_socket(service->socket, sizeof service->socket);
    const char *tokens = options->tokens ? options->tokens : config->tokens;
    int status = path ? 0 : make_socket_folder(service->socket, err);
    if (status == 0)
        status = adl_auth_create(config->admin_group, tokens, &service->auth, err);
    if (status)
        return status;
    adl_auth_set_log(service->auth, options->say);
    struct adl_http_config http = {.unix_path = service->socket,
                                   .unix_group = config->socket_group,
                                   .tcp = options->tcp ? options->tcp : config->tcp,
                                   .tls_cert = config->tls_cert,
                                   .tls_key = config->tls_key,
                                   .context = &service->routes,
                                   .auth = service->auth,
                                   .events = service->shared.events,
                                   .limits = adl_http_limits_default()};
    service->routes.shared = &service->shared;
    http.routes = adl_routes(&http.route_count);
    http.limits.client.requests_per_s = options->no_limits ? 0 : config->requests_per_s;
    status = adl_http_open(&http, &service->http, err);
    if (status == 0)
        atomic_store(&service->routes.http, service->http);
    return status;
}

/* The configuration of a twin or a Slurm cluster that only the command line names. */
static int read_words(const struct adl_service_options *options, struct adl_service_config *ret, struct adl_error *err)
{
    static const char letters[] = "'\"\n[]{}#";
    char text[ADL_STORE_PATH_MAX + 200];
    const char *given = options->scenario ? options->scenario : options->partitions;
    if (strpbrk(given, letters) || strlen(given) > ADL_STORE_PATH_MAX)
        return adl_fail(err, ADL_EINVAL,
                        "'%.60s' has characters with a meaning in YAML: name it in a configuration file", given);
    if (options->scenario && options->partitions)
        return adl_fail(err, ADL_EINVAL, "--twin and --partitions are two engines: give one");
    if (options->scenario)
        snprintf(text, sizeof text, "engine: sim\nscenario: '%s'\n", given);
    else
        snprintf(text, sizeof text, "engine: slurm\nslurm: {partitions: [%s], mode: %s}\n", given,
                 options->mode ? options->mode : "observe");
    return adl_service_config_read("the command line", text, ret, err);
}

/* The configuration, with the settings of the command line. */
int adl_service_load_config(const struct adl_service_options *options, struct adl_service_config *ret,
                            struct adl_error *err)
{
    const struct adl_policy_ops *policy = options->policy ? adl_policy_find(options->policy) : NULL;
    if (options->policy && !policy)
        return adl_fail(err, ADL_EINVAL, "there is no policy '%.60s' (`adlro policies` lists them)", options->policy);
    const bool own = options->scenario || options->partitions;
    if (own && options->config)
        return adl_fail(err, ADL_EINVAL, "%s replaces --config: give one of them",
                        options->scenario ? "--twin" : "--partitions");
    const int status = own ? read_words(options, ret, err) : adl_service_config_load(options->config, ret, err);
    if (status)
        return status;
    if (options->engine > 0 && ret->engine != options->engine - 1) {
        adl_service_config_clear(ret);
        return adl_fail(err, ADL_EINVAL,
                        "--engine is not what the configuration says; sim needs --twin SCENARIO, slurm "
                        "--partitions LIST or a configuration");
    }
    ret->policy = policy ? policy : ret->policy;
    if (!ret->policy->limits_power &&
        (ret->power.schedule.count > 0 || ret->inventory.scenario.power_limit_count > 0)) {
        const int refused = adl_fail(err, ADL_EINVAL,
                                     "policy %s cannot follow the power limits of the configuration; "
                                     "gogh can",
                                     ret->policy->name);
        adl_service_config_clear(ret);
        return refused;
    }
    ret->speed = options->speed > 0 ? options->speed : ret->speed;
    return 0;
}

int adl_service_create(const struct adl_service_options *options, struct adl_service **ret, struct adl_error *err)
{
    struct adl_service *service = calloc(1, sizeof *service);
    if (!service)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the service");
    service->options = *options;
    raise_limits(service);
    int status = adl_service_load_config(options, &service->config, err);
    if (status == 0)
        status = open_state(service, err);
    if (status == 0) {
        service->clock = service->config.engine == ADL_ENGINE_SIM
                             ? adl_service_clock_start_twin(service->config.speed, adl_live_latest_us(service->store))
                             : adl_service_clock_start();
        status = adl_service_record_config(service, &service->config, err);
    }
    if (status == 0)
        status = adl_request_queue_create(REQUESTS_MAX, &service->shared.request_queue, err);
    if (status == 0)
        status = open_executor(service, err);
    if (status == 0)
        status = open_snapshots(service, err);
    if (status == 0)
        status = adl_hooks_create(&service->config.hooks, service->options.say, &service->shared.hooks, err);
    if (status == 0)
        status = open_live(service, err);
    if (status == 0)
        status = adl_questions_create(&service->shared, (int64_t)(service->config.time_limit_s * 1e6),
                                      &service->shared.questions, err);
    if (status == 0)
        status = open_http(service, err);
    if (status == 0)
        status = adl_forecasts_begin(service->shared.forecasts, err);
    if (status) {
        adl_service_destroy(service);
        return status;
    }
    *ret = service;
    return 0;
}

void adl_service_destroy(struct adl_service *service)
{
    if (!service)
        return;
    adl_http_close(service->http);
    adl_forecasts_destroy(service->shared.forecasts);
    adl_shadowing_destroy(service->shared.shadowing);
    adl_questions_destroy(service->shared.questions);
    adl_live_destroy(service->live);
    adl_hooks_destroy(service->shared.hooks);
    adl_request_queue_destroy(service->shared.request_queue);
    adl_engine_destroy(service->shared.engine);
    adl_engine_destroy(service->next_engine);
    adl_snapshots_destroy(service->shared.snapshots);
    adl_events_destroy(service->shared.events);
    adl_routes_clear(&service->routes);
    adl_auth_destroy(service->auth);
    if (service->executor.ops)
        service->executor.ops->destroy(service->executor.self);
    adl_job_table_clear(&service->shared.job_table);
    adl_user_sums_clear(&service->shared.idle_users);
    free(service->shared.gpus);
    free(service->shared.points);
    free(service->shared.decisions);
    if (service->locked) {
        pthread_mutex_destroy(&service->shared.lock);
        pthread_mutex_destroy(&service->shared.turn);
    }
    adl_store_close(service->store);
    adl_service_config_clear(&service->next);
    adl_service_config_clear(&service->config);
    free(service);
}

/* ---- running ---- */

int adl_service_run(struct adl_service *service, struct adl_error *err)
{
    struct adl_service_state *shared = &service->shared;
    int status;
    adl_service_state_lock(shared);
    do {
        status = adl_engine_run(shared->engine, err);
        if (status == 0 && !adl_live_ending(service->live))
            status = adl_service_change_engine(service, err);
    } while (status == 0 && !adl_live_ending(service->live));
    if (status == 0)
        adl_live_belief_keep(service->live);
    adl_service_state_unlock(shared);
    adl_snapshots_end(shared->snapshots);
    return status;
}

void adl_service_end(struct adl_service *service)
{
    adl_live_end(service->live);
}

static void answer_nobody(struct adl_request *request)
{
    free(request);
}

int adl_service_reload(struct adl_service *service)
{
    struct adl_request *request = calloc(1, sizeof *request);
    if (!request)
        return ADL_ENOMEM;
    request->kind = ADL_REQUEST_RELOAD;
    request->caller.known = request->caller.admin = true;
    request->answer = answer_nobody;
    if (adl_request_queue_post(service->shared.request_queue, request))
        return 0;
    free(request);
    return ADL_EREFUSED;
}

/* Engine, policy and GPUs in a line. */
static size_t describe_config(const struct adl_service_config *config, const struct adl_policy_ops *policy,
                              double speed, char *ret, size_t size)
{
    const struct adl_cluster *cluster = &config->inventory.scenario.cluster;
    static const char *const engines[] = {"local", "twin", "Slurm"}, *const modes[] = {"observed", "advised",
                                                                                       "decided for"};
    const bool sim = config->engine == ADL_ENGINE_SIM;
    size_t at = (size_t)snprintf(ret, size, "%s, policy %s", engines[config->engine], policy->name);
    if (at < size && policy != config->policy)
        at += (size_t)snprintf(ret + at, size - at, " (promoted in place of %s)", config->policy->name);
    if (at < size)
        at += (size_t)snprintf(ret + at, size - at, ":");
    for (uint32_t t = 0; t < cluster->type_count && at < size; t++)
        at += (size_t)snprintf(ret + at, size - at, " %u x %s", cluster->type_gpus[t], cluster->types[t].name);
    if (at < size && sim)
        at += (size_t)snprintf(ret + at, size - at, " (simulated, time runs %g times as fast)", speed);
    else if (at < size && config->engine == ADL_ENGINE_SLURM)
        at += (size_t)snprintf(ret + at, size - at, " (%s)", modes[config->slurm.mode]);
    else if (at < size && config->inventory.virtual)
        at += (size_t)snprintf(ret + at, size - at, " (virtual slots: jobs really run, but there is no such GPU)");
    return at < size ? at : size - 1;
}

int adl_service_check(const struct adl_service_options *options, char *ret, size_t size, struct adl_error *err)
{
    struct adl_service_config config = {0};
    const int status = adl_service_load_config(options, &config, err);
    if (status == 0)
        describe_config(&config, config.policy, config.speed, ret, size);
    adl_service_config_clear(&config);
    return status;
}

void adl_service_describe(const struct adl_service *service, char *ret, size_t size)
{
    const struct adl_job_table *job_table = &service->shared.job_table;
    size_t at = describe_config(&service->config, adl_service_wanted(service), service->clock.speed, ret, size);
    if (at < size && job_table->count > 0)
        at += (size_t)snprintf(ret + at, size - at, "\n%u jobs were found in the state", job_table->count);
    if (at < size)
        at += (size_t)snprintf(ret + at, size - at, "\nlistening at %s", service->socket);
    if (at < size && adl_http_port(service->http) > 0)
        snprintf(ret + at, size - at, " and at TCP port %d", adl_http_port(service->http));
}
