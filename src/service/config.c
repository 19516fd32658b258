#include "service/config_internal.h"

#include "base/suggest.h"
#include "policy/dqn/normalize.h"
#include "policy/policy.h"
#include "rl/model_store.h"
#include "scenario/scenario.h"
#include "scenario/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIORITY_S "86400"

/* State of the loading. */
struct loader {
    struct adl_yaml *yaml;
    struct service_form form;
    struct adl_service_config config; /* being built */
    struct adl_error *err;
};

/* A key that has no meaning for the chosen engine is an error, because its author expects an effect. */
static int check_engine_keys(const struct loader *loader)
{
    static const struct {
        const char *key;
        int engine, or_engine;
    } only[] = {{"scenario", ADL_ENGINE_SIM, ADL_ENGINE_SIM},      {"speed", ADL_ENGINE_SIM, ADL_ENGINE_SIM},
                {"catalogue", ADL_ENGINE_LOCAL, ADL_ENGINE_SLURM}, {"gpu_types", ADL_ENGINE_LOCAL, ADL_ENGINE_SLURM},
                {"virtual", ADL_ENGINE_LOCAL, ADL_ENGINE_LOCAL},   {"cluster", ADL_ENGINE_LOCAL, ADL_ENGINE_LOCAL},
                {"slurm", ADL_ENGINE_SLURM, ADL_ENGINE_SLURM}};
    const struct adl_yaml_node *root = adl_yaml_root(loader->yaml);
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (only[i].engine != loader->form.engine && only[i].or_engine != loader->form.engine &&
            adl_yaml_value(root, only[i].key))
            return adl_yaml_fail(loader->yaml, adl_yaml_line(root, only[i].key), loader->err,
                                 "'%s' is for 'engine: %s'; the engine is %s%s", only[i].key,
                                 adl_engine_names[only[i].engine], adl_engine_names[loader->form.engine],
                                 loader->form.engine == ADL_ENGINE_SIM && only[i].engine == ADL_ENGINE_LOCAL
                                     ? ", whose scenario says it"
                                     : "");
    if (loader->form.engine == ADL_ENGINE_SIM && !loader->form.scenario.text)
        return adl_yaml_fail(loader->yaml, root->line, loader->err,
                             "missing key 'scenario' (the file that 'engine: sim' plays)");
    if (loader->form.engine == ADL_ENGINE_SLURM && loader->form.slurm.partitions.count == 0)
        return adl_yaml_fail(loader->yaml, root->line, loader->err,
                             "missing key 'slurm.partitions' (whose jobs 'engine: slurm' decides about)");
    const struct adl_yaml_node *policy = adl_yaml_value(root, "policy");
    for (const struct adl_yaml_node *at = policy ? policy->first : NULL; at && at->next; at = at->next->next)
        if (loader->form.engine == ADL_ENGINE_SIM && strcmp(at->text, "name") != 0 &&
            strcmp(at->text, "priority_s") != 0)
            return adl_yaml_fail(loader->yaml, at->line, loader->err,
                                 "policy.%s: with 'engine: sim' the scenario's settings hold; give it there", at->text);
    return 0;
}

static int check_listen(const struct loader *loader)
{
    const struct form_listen *listen = &loader->form.listen;
    const struct adl_yaml_link *alone = listen->tls_cert.text ? &listen->tls_cert : &listen->tls_key;
    if (!listen->tls_cert.text != !listen->tls_key.text)
        return adl_yaml_fail(loader->yaml, alone->line, loader->err,
                             "listen: tls_cert and tls_key must be given together");
    if (listen->tls_cert.text && !listen->tcp.text)
        return adl_yaml_fail(loader->yaml, alone->line, loader->err,
                             "listen.tls_cert: there is no 'tcp' address that it is for");
    return 0;
}

static int fail_policy(const struct loader *loader, const char *key, const struct adl_yaml_link *link)
{
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE], known[120] = "";
    struct adl_suggest suggest = {.word = link->text};
    for (uint32_t i = 0; i < adl_policy_count(); i++) {
        adl_suggest_offer(&suggest, adl_policy_at(i)->name);
        adl_list_append(known, sizeof known, adl_policy_at(i)->name);
    }
    return adl_yaml_fail(loader->yaml, link->line, loader->err, "%s: unknown policy %s%s (policies: %s)", key,
                         adl_quote(link->text, quoted), adl_suggest_phrase(&suggest, phrase), known);
}

static int find_policy(struct loader *loader)
{
    static const struct adl_yaml_field field = {.name = "name", .kind = ADL_YAML_LINK};
    const struct adl_yaml_node *node = adl_yaml_value(loader->form.parts.policy, "name");
    const struct adl_yaml_link *fallback = &loader->form.fallback_policy;
    struct adl_yaml_link link = {0};
    const int status = node ? adl_yaml_read_value(loader->yaml, &field, node, "policy", &link, loader->err) : 0;
    if (status)
        return status;
    loader->config.policy = link.text ? adl_policy_find(link.text) : &adl_policy_easy;
    if (!loader->config.policy)
        return fail_policy(loader, "policy.name", &link);
    loader->config.gate_auto = loader->form.gate == 1;
    loader->config.fallback = fallback->text ? adl_policy_find(fallback->text) : &adl_policy_easy;
    return loader->config.fallback || strcmp(fallback->text, "off") == 0
               ? 0
               : fail_policy(loader, "fallback_policy", fallback);
}

int adl_service_config_path(struct adl_yaml *yaml, const struct adl_yaml_link *link, const char **ret,
                            struct adl_error *err)
{
    if (!link->text)
        return 0;
    char *path = adl_path_beside(adl_yaml_name(yaml), link->text);
    char *kept = path ? adl_yaml_alloc(yaml, strlen(path) + 1) : NULL;
    if (kept)
        memcpy(kept, path, strlen(path) + 1);
    free(path);
    *ret = kept;
    return kept ? 0 : adl_fail(err, ADL_ENOMEM, "out of memory for the configuration");
}

static int read_paths(struct loader *loader)
{
    const struct service_form *form = &loader->form;
    struct adl_service_config *config = &loader->config;
    const struct {
        const struct adl_yaml_link *link;
        const char **ret;
    } paths[] = {{&form->scenario, &config->scenario},        {&form->listen.socket, &config->socket},
                 {&form->listen.tls_cert, &config->tls_cert}, {&form->listen.tls_key, &config->tls_key},
                 {&form->listen.tokens, &config->tokens},     {&form->jobs.cgroup, &config->cgroup},
                 {&form->telemetry.sysfs, &config->sysfs}};
    int status = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths && !status; i++)
        status = adl_service_config_path(loader->yaml, paths[i].link, paths[i].ret, loader->err);
    return status;
}

static int read_exporters(struct loader *loader)
{
    const struct adl_yaml_list *list = &loader->form.telemetry.exporters;
    const struct adl_yaml_link *links = list->items;
    if (list->count == 0)
        return 0;
    const char **urls = adl_yaml_alloc(loader->yaml, list->count * sizeof *urls);
    if (!urls)
        return adl_fail(loader->err, ADL_ENOMEM, "out of memory for the configuration");
    for (uint32_t i = 0; i < list->count; i++) {
        if (strncmp(links[i].text, "http://", 7) != 0 && strncmp(links[i].text, "https://", 8) != 0)
            return adl_yaml_fail(loader->yaml, links[i].line, loader->err,
                                 "telemetry.exporters[%u] must begin with http:// or https://", (unsigned)i);
        urls[i] = links[i].text;
    }
    loader->config.exporters = urls;
    loader->config.exporter_count = list->count;
    return 0;
}

/* `off`, or a percentage. */
static int read_drain(struct loader *loader)
{
    const struct adl_yaml_link *link = &loader->form.drain_slow_gpus;
    char *end = NULL, quoted[ADL_QUOTE_SIZE];
    if (!link->text || strcmp(link->text, "off") == 0)
        return 0;
    const double percent = strtod(link->text, &end);
    if (*end != '\0' || !(percent >= 5 && percent <= 90))
        return adl_yaml_fail(loader->yaml, link->line, loader->err,
                             "drain_slow_gpus: %s is neither off nor a percentage between 5 and 90",
                             adl_quote(link->text, quoted));
    loader->config.drain_below = percent / 100;
    return 0;
}

static int read_idle(struct loader *loader)
{
    const struct form_idle *form = &loader->form.idle;
    const struct adl_yaml_node *node = adl_yaml_value(adl_yaml_root(loader->yaml), "idle");
    if (loader->form.engine == ADL_ENGINE_LOCAL && form->after_s > 0 &&
        form->after_s < 4 * loader->form.telemetry.interval_s)
        return adl_yaml_fail(loader->yaml, node ? adl_yaml_line(node, "after_s") : 1, loader->err,
                             "idle.after_s: %g s is less than four readings at telemetry.interval_s (%g s)",
                             form->after_s, loader->form.telemetry.interval_s);
    loader->config.idle = (struct adl_idle_config){.below = form->below_percent / 100,
                                                   .after_us = (int64_t)(form->after_s * 1e6),
                                                   .stop = form->stop,
                                                   .notice_us = (int64_t)(form->notice_s * 1e6)};
    if (form->stop && form->after_s <= 0)
        return adl_yaml_fail(loader->yaml, node ? adl_yaml_line(node, "stop") : 1, loader->err,
                             "idle.stop needs an 'after_s' above 0, else no GPU is ever idle");
    return 0;
}

static void copy_plain(struct loader *loader)
{
    const struct service_form *form = &loader->form;
    struct adl_service_config *config = &loader->config;
    config->engine = form->engine;
    config->seed = (uint64_t)form->seed;
    config->learned = form->learned;
    config->forecast = (struct adl_forecast_config){
        .futures = (uint32_t)form->forecast.futures,
        .interval_s = form->forecast.interval_s,
        .cpu_share = form->forecast.cpu_share,
    };
    config->socket_group = form->listen.socket_group.text;
    config->tcp = form->listen.tcp.text;
    config->admin_group = form->listen.admin_group.text;
    config->requests_per_s = form->listen.requests_per_s;
    config->speed = form->speed;
    config->telemetry_s = form->telemetry.interval_s;
    config->retention_days = form->telemetry.retention_days;
    config->avoid_foreign = form->telemetry.avoid_foreign;
    config->nvml = form->telemetry.nvml.text; /* the dynamic loader finds a name without a slash */
    config->rocm_smi = form->telemetry.rocm_smi.text;
    config->time_limit_s = form->jobs.time_limit_s;
    config->grace_s = form->jobs.grace_s;
    config->priority_max = (float)form->jobs.priority_max;
    config->jobs_max = (uint32_t)form->jobs.max;
    config->jobs_per_user = (uint32_t)form->jobs.max_per_user;
    config->mib_per_user = form->jobs.mib_per_user;
    config->jobs_retention_days = form->jobs.retention_days;
    config->root_jobs = form->jobs.root;
    config->private_jobs = form->jobs.private;
}

struct adl_telemetry_options adl_service_telemetry(const struct adl_service_config *config, bool with_exporters)
{
    return (struct adl_telemetry_options){.nvml_path = config->nvml,
                                          .rocm_path = config->rocm_smi,
                                          .sysfs_root = config->sysfs,
                                          .urls = with_exporters ? config->exporters : NULL,
                                          .url_count = with_exporters ? config->exporter_count : 0,
                                          .interval_us = (int64_t)(config->telemetry_s * 1e6)};
}

static struct adl_scenario_reader policy_reader(struct adl_yaml *yaml, const struct service_form *form,
                                                struct adl_scenario *scenario, struct adl_error *err)
{
    return (struct adl_scenario_reader){
        .yaml = yaml, .form = &form->parts, .scenario = scenario, .named_policy = true, .err = err};
}

/* On a live cluster priority counts unless the configuration says otherwise. */
static int read_policy(struct adl_scenario_reader *reader)
{
    if (reader->scenario && adl_scenario_add_setting(reader->scenario, "priority_s", PRIORITY_S))
        return adl_fail(reader->err, ADL_ENOMEM, "out of memory for the configuration");
    return adl_scenario_read_policy(reader);
}

static int load_scenario(struct loader *loader)
{
    struct adl_inventory *inventory = &loader->config.inventory;
    struct adl_error inner = {{0}};
    int status = adl_scenario_load(loader->config.scenario, &inventory->scenario, NULL, &inner);
    if (status)
        return adl_yaml_fail(loader->yaml, loader->form.scenario.line, loader->err, "scenario: %s", inner.text);
    if (adl_inventory_add_plain_class(inventory))
        return adl_fail(loader->err, ADL_ENOMEM, "out of memory for the scenario");
    struct adl_scenario_reader reader = policy_reader(loader->yaml, &loader->form, &inventory->scenario, loader->err);
    status = read_policy(&reader);
    return status ? status : adl_inventory_name_gpus(inventory, "simulated", loader->err);
}

/* Reads the GPUs of this machine into the inventory, unless the configuration asks for virtual slots. */
static int detect_gpus(struct loader *loader, const struct adl_catalogue *catalogue)
{
    const struct adl_telemetry_options options = adl_service_telemetry(&loader->config, false);
    struct adl_telemetry_reader *reader = NULL;
    uint32_t count = 0;
    if (loader->form.virtual)
        return 0;
    int status = adl_telemetry_open(&options, &reader, loader->err);
    if (status)
        return status;
    const struct adl_gpu_device *devices = adl_telemetry_devices(reader, &count);
    if (count > 0 && loader->form.parts.cluster.nodes.count > 0)
        status = adl_yaml_fail(loader->yaml, adl_yaml_line(adl_yaml_root(loader->yaml), "cluster"), loader->err,
                               "cluster: this machine has %u GPU%s (%.60s), which are used without it; 'virtual: "
                               "true' would use these slots in their place",
                               (unsigned)count, count == 1 ? "" : "s", devices[0].model);
    else if (count > 0)
        status = adl_inventory_add_devices(&loader->config.inventory, catalogue, devices, count, loader->err);
    adl_telemetry_close(reader);
    return status;
}

static int take_inventory(struct loader *loader, const struct adl_catalogue *catalogue)
{
    struct adl_inventory *inventory = &loader->config.inventory;
    struct adl_scenario *scenario = &inventory->scenario;
    struct adl_scenario_reader reader = policy_reader(loader->yaml, &loader->form, scenario, loader->err);
    reader.catalogue = catalogue;
    snprintf(scenario->name, sizeof scenario->name, "local");
    snprintf(scenario->description, sizeof scenario->description, "this machine");
    scenario->lambda = loader->form.parts.lambda;
    scenario->kill_at_limit = loader->form.parts.kill_at_limit;
    scenario->preemption.checkpoint_s = loader->config.grace_s; /* at most: what a job may take to end */
    int status = detect_gpus(loader, catalogue);
    if (!status && loader->form.parts.cluster.nodes.count > 0) {
        status = adl_scenario_read_cluster(&reader);
        status = status ? status : adl_inventory_name_gpus(inventory, "virtual", loader->err);
    } else if (!status && scenario->cluster.gpu_count == 0) {
        status = adl_inventory_add_slots(inventory, catalogue, loader->err);
    }
    status = status ? status : adl_scenario_read_classes(&reader);
    return status ? status : read_policy(&reader);
}

static int use_machine(struct loader *loader)
{
    struct adl_catalogue catalogue = {0};
    const char *path = NULL;
    struct adl_error inner = {{0}};
    int status = adl_service_config_path(loader->yaml, &loader->form.catalogue, &path, loader->err);
    if (status)
        return status;
    status = adl_inventory_catalogue(path, &catalogue, &inner);
    if (status)
        return adl_yaml_fail(loader->yaml, loader->form.catalogue.line, loader->err, "catalogue: %s", inner.text);
    status = adl_catalogue_add_types(&catalogue, loader->yaml, &loader->form.parts.gpu_types, loader->err);
    status = status ? status : take_inventory(loader, &catalogue);
    adl_catalogue_clear(&catalogue);
    return status;
}

/* A network that cannot be used fails here, and not when the policy first needs it. */
static int read_model(struct loader *loader)
{
    struct adl_service_config *config = &loader->config;
    struct adl_error inner = {{0}};
    int status = adl_service_config_path(loader->yaml, &loader->form.model, &config->model_path, loader->err);
    if (status || !config->model_path)
        return status;
    status = adl_model_store_read_bytes(config->model_path, &config->model, &config->model_size, &inner);
    if (!status)
        status = adl_model_store_check(config->model, config->model_size, &inner);
    if (status)
        return adl_yaml_fail(loader->yaml, loader->form.model.line, loader->err, "model: %s", inner.text);
    config->inventory.scenario.policy.model = config->model;
    config->inventory.scenario.policy.model_size = config->model_size;
    return 0;
}

static int read_slurm(struct loader *loader)
{
    const struct form_slurm *form = &loader->form.slurm;
    struct adl_executor_slurm_config *slurm = &loader->config.slurm;
    const struct adl_yaml_link *partitions = form->partitions.items;
    const struct form_alias *types = form->types.items;
    const char **names = adl_yaml_alloc(loader->yaml, (form->partitions.count + 1) * sizeof *names);
    struct adl_slurm_alias *aliases = adl_yaml_alloc(loader->yaml, (form->types.count + 1) * sizeof *aliases);
    struct service_form *kept = adl_yaml_alloc(loader->yaml, sizeof *kept);
    if (!names || !aliases || !kept)
        return adl_fail(loader->err, ADL_ENOMEM, "out of memory for the configuration");
    for (uint32_t i = 0; i < form->partitions.count; i++)
        names[i] = partitions[i].text;
    for (uint32_t i = 0; i < form->types.count; i++)
        aliases[i] = (struct adl_slurm_alias){types[i].gres.text, types[i].type.text};
    *kept = loader->form;
    loader->config.form = kept;
    struct adl_scenario_reader reader = policy_reader(loader->yaml, &loader->form, NULL, loader->err);
    const int status = read_policy(&reader); /* what can be checked before the cluster is known */
    if (status)
        return status;
    *slurm = (struct adl_executor_slurm_config){.adapter = form->adapter.text,
                                                .conf = form->conf.text,
                                                .partitions = names,
                                                .partition_count = form->partitions.count,
                                                .aliases = aliases,
                                                .alias_count = form->types.count,
                                                .mode = form->mode,
                                                .requeue = form->requeue,
                                                .wait_us = (int64_t)(form->wait_s * 1e6)};
    return 0;
}

/* Classes and the policy's settings, which name GPU types, once the cluster is known. */
static int read_rest(const struct adl_service_config *config, const struct adl_catalogue *catalogue,
                     struct adl_scenario *scenario, bool classes, struct adl_error *err)
{
    const struct service_form *form = config->form;
    struct adl_scenario_reader reader = policy_reader(config->yaml, form, scenario, err);
    reader.catalogue = catalogue;
    const int status = classes ? adl_scenario_read_classes(&reader) : 0;
    return status ? status : read_policy(&reader);
}

int adl_service_config_ask(struct adl_service_config *config, struct adl_executor *ret, struct adl_error *err)
{
    const struct service_form *form = config->form;
    struct adl_scenario *scenario = &config->inventory.scenario;
    struct adl_catalogue catalogue = {0};
    struct adl_executor executor = {0};
    int status = adl_inventory_catalogue(form->catalogue.text, &catalogue, err);
    if (status)
        return status;
    snprintf(scenario->name, sizeof scenario->name, "slurm");
    snprintf(scenario->description, sizeof scenario->description, "a Slurm cluster");
    scenario->lambda = form->parts.lambda;
    scenario->kill_at_limit = form->parts.kill_at_limit;
    status = adl_catalogue_add_types(&catalogue, config->yaml, &form->parts.gpu_types, err);
    if (status == 0)
        status = adl_executor_slurm_open(&config->slurm, &catalogue, &config->inventory, &executor, err);
    if (status == 0)
        status = read_rest(config, &catalogue, scenario, true, err);
    adl_catalogue_clear(&catalogue);
    if (status && executor.ops)
        executor.ops->destroy(executor.self);
    if (status == 0) {
        scenario->policy.model = config->model;
        scenario->policy.model_size = config->model_size;
        *ret = executor;
    }
    return status;
}

int adl_service_config_settle(struct adl_service_config *config, const struct adl_inventory *have,
                              struct adl_error *err)
{
    struct adl_scenario known = have->scenario; /* not owned: only its policy is written */
    known.settings = NULL;
    const int status = read_rest(config, NULL, &known, false, err);
    adl_scenario_move_policy(&config->inventory.scenario, &known);
    config->inventory.scenario.policy.model = config->model;
    config->inventory.scenario.policy.model_size = config->model_size;
    return status;
}

static int build(struct loader *loader)
{
    struct adl_scenario *scenario = &loader->config.inventory.scenario;
    copy_plain(loader);
    int status = check_engine_keys(loader);
    status = status ? status : check_listen(loader);
    status = status ? status : find_policy(loader);
    status = status ? status : read_paths(loader);
    status = status ? status : read_exporters(loader);
    status = status ? status : read_drain(loader);
    status = status ? status : read_idle(loader);
    if (!status)
        status = adl_service_config_hooks(loader->yaml, &loader->form, &loader->config.hooks, loader->err);
    if (!status)
        status = loader->form.engine == ADL_ENGINE_SIM     ? load_scenario(loader)
                 : loader->form.engine == ADL_ENGINE_SLURM ? read_slurm(loader)
                                                           : use_machine(loader);
    if (!status)
        status =
            adl_service_config_power(loader->yaml, &loader->form, &loader->config, &loader->config.power, loader->err);
    status = status ? status : read_model(loader);
    scenario->policy.preemption_us =
        (int64_t)((scenario->preemption.checkpoint_s + scenario->preemption.restart_s) * 1e6);
    return status;
}

/* The text has only comments and empty lines. */
static bool is_blank(const char *text)
{
    while (*text) {
        text += strspn(text, " \t\r\n");
        if (*text && *text != '#')
            return false;
        text += strcspn(text, "\n");
    }
    return true;
}

/* Takes over the text, which may be NULL. */
static int load(const char *name, char *text, size_t size, struct adl_service_config *ret, struct adl_error *err)
{
    static const char nothing[] = "{}";
    struct loader loader = {.err = err, .config = {.text = text, .text_size = size}};
    struct adl_service_config *config = &loader.config;
    const bool empty = !text || is_blank(text);
    int status = adl_yaml_parse(name, empty ? nothing : text, empty ? sizeof nothing - 1 : size, &loader.yaml, err);
    config->yaml = loader.yaml;
    status = status ? status : adl_yaml_read(loader.yaml, &adl_service_table, &loader.form, err);
    status = status ? status : build(&loader);
    if (status)
        adl_service_config_clear(config);
    else
        *ret = *config;
    return status;
}

int adl_service_config_load(const char *path, struct adl_service_config *ret, struct adl_error *err)
{
    char *text = NULL;
    size_t size = 0;
    const int status = path ? adl_text_file_read(path, &text, &size, err) : 0;
    return status ? status : load(path ? path : "the configuration", text, size, ret, err);
}

int adl_service_config_read(const char *name, const char *text, struct adl_service_config *ret, struct adl_error *err)
{
    const size_t size = strlen(text);
    char *copy = malloc(size + 1);
    if (!copy)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the configuration");
    memcpy(copy, text, size + 1);
    return load(name, copy, size, ret, err); // NOLINT(clang-analyzer-unix.Malloc): load takes it over
}

void adl_service_config_clear(struct adl_service_config *config)
{
    adl_inventory_clear(&config->inventory);
    adl_yaml_destroy(config->yaml);
    free(config->text);
    free(config->model);
    *config = (struct adl_service_config){0};
}
