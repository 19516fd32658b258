#include "scenario/scenario.h"

#include "base/suggest.h"
#include "scenario/scenario_internal.h"
#include "scenario/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COST_MAX_S 1e5

static int refuse_type(const struct adl_scenario_reader *reader, const struct adl_yaml_link *link, const char *where)
{
    const struct adl_cluster *cluster = &reader->scenario->cluster;
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE], known[120] = "";
    struct adl_suggest suggest = {.word = link->text};
    for (uint32_t i = 0; i < cluster->type_count; i++) {
        adl_suggest_offer(&suggest, cluster->types[i].name);
        adl_list_append(known, sizeof known, cluster->types[i].name);
    }
    return adl_yaml_fail(reader->yaml, link->line, reader->err, "%s: no node has a GPU of type %s%s (types: %s)", where,
                         adl_quote(link->text, quoted), adl_suggest_phrase(&suggest, phrase), known);
}

int adl_scenario_find_type(const struct adl_scenario_reader *reader, const struct adl_yaml_link *link,
                           const char *where, uint32_t *ret_type)
{
    const uint32_t type = adl_cluster_find_type(&reader->scenario->cluster, link->text);
    if (type == ADL_NONE)
        return refuse_type(reader, link, where);
    *ret_type = type;
    return 0;
}

static int refuse_catalogue_type(const struct adl_scenario_reader *reader, const struct adl_yaml_link *link,
                                 uint32_t node, uint32_t bank)
{
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE], known[120] = "";
    struct adl_suggest suggest = {.word = link->text};
    for (uint32_t i = 0; i < reader->catalogue->type_count; i++) {
        adl_suggest_offer(&suggest, reader->catalogue->types[i].gpu.name);
        adl_list_append(known, sizeof known, reader->catalogue->types[i].gpu.name);
    }
    return adl_yaml_fail(reader->yaml, link->line, reader->err,
                         "cluster.nodes[%u].gpus[%u].type: unknown GPU type %s%s (types: %s)", (unsigned)node,
                         (unsigned)bank, adl_quote(link->text, quoted), adl_suggest_phrase(&suggest, phrase), known);
}

/* The type's index in the cluster, adding it at its first use. */
static int use_type(struct adl_scenario_reader *reader, const struct adl_yaml_link *link, uint32_t node, uint32_t bank,
                    uint32_t *ret_type)
{
    struct adl_cluster *cluster = &reader->scenario->cluster;
    uint32_t type = adl_cluster_find_type(cluster, link->text);
    if (type == ADL_NONE) {
        const struct adl_catalogue_type *found = adl_catalogue_find_type(reader->catalogue, link->text);
        if (!found)
            return refuse_catalogue_type(reader, link, node, bank);
        if (cluster->type_count == ADL_TYPES_MAX)
            return adl_yaml_fail(reader->yaml, link->line, reader->err,
                                 "cluster.nodes[%u].gpus[%u].type: more than %d GPU types in one cluster",
                                 (unsigned)node, (unsigned)bank, ADL_TYPES_MAX);
        const int status = adl_cluster_add_type(cluster, &found->gpu, reader->err);
        if (status)
            return status;
        type = cluster->type_count - 1;
    }
    *ret_type = type;
    return 0;
}

static int read_banks(struct adl_scenario_reader *reader, uint32_t index, struct adl_bank_spec banks[ADL_TYPES_MAX])
{
    const struct adl_form_node *form = &((const struct adl_form_node *)reader->form->cluster.nodes.items)[index];
    const struct adl_form_bank *items = form->gpus.items;
    uint64_t gpus = 0;
    for (uint32_t i = 0; i < form->gpus.count; i++) {
        const int status = use_type(reader, &items[i].type, index, i, &banks[i].type);
        if (status)
            return status;
        for (uint32_t j = 0; j < i; j++)
            if (banks[j].type == banks[i].type)
                return adl_yaml_fail(reader->yaml, items[i].type.line, reader->err,
                                     "cluster.nodes[%u].gpus[%u].type: '%s' is given twice; add the counts up",
                                     (unsigned)index, (unsigned)i, items[i].type.text);
        banks[i].gpu_count = (uint32_t)items[i].count;
        gpus += banks[i].gpu_count;
    }
    const struct adl_cluster *cluster = &reader->scenario->cluster;
    if (cluster->gpu_count + gpus * (uint64_t)form->count > ADL_CLUSTER_GPUS_MAX)
        return adl_yaml_fail(reader->yaml, form->at->line, reader->err,
                             "cluster.nodes[%u]: with it the cluster has more than %u GPUs", (unsigned)index,
                             ADL_CLUSTER_GPUS_MAX);
    if (cluster->node_count + form->count > ADL_NODES_MAX)
        return adl_yaml_fail(reader->yaml, form->at->line, reader->err,
                             "cluster.nodes[%u]: with it the cluster has more than %u nodes", (unsigned)index,
                             ADL_NODES_MAX);
    return 0;
}

static int add_nodes(struct adl_scenario_reader *reader, uint32_t index)
{
    const struct adl_form_node *form = &((const struct adl_form_node *)reader->form->cluster.nodes.items)[index];
    struct adl_bank_spec banks[ADL_TYPES_MAX];
    struct adl_node node = {.cpu_cores = form->cpu_cores, .memory_mib = form->memory_mib, .link_gbs = form->link_gbs};
    int status = read_banks(reader, index, banks);
    for (int64_t i = 0; i < form->count && !status; i++) {
        if (form->count == 1)
            memcpy(node.name, form->name, sizeof node.name);
        else if (snprintf(node.name, sizeof node.name, "%s-%lld", form->name, (long long)i) >= (int)sizeof node.name)
            return adl_yaml_fail(reader->yaml, adl_yaml_line(form->at, "name"), reader->err,
                                 "cluster.nodes[%u].name is too long to be numbered up to %lld", (unsigned)index,
                                 (long long)form->count - 1);
        status = adl_cluster_add_node(&reader->scenario->cluster, &node, banks, form->gpus.count, reader->err);
    }
    return status;
}

static int compare_names(const void *a, const void *b)
{
    const struct adl_node *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Numbered names can equal given ones, so the check is on the finished cluster. */
static int check_node_names(const struct adl_scenario_reader *reader)
{
    const struct adl_cluster *cluster = &reader->scenario->cluster;
    const struct adl_node **order = malloc((cluster->node_count + 1) * sizeof *order);
    if (!order)
        return adl_fail(reader->err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(reader->yaml));
    for (uint32_t i = 0; i < cluster->node_count; i++)
        order[i] = &cluster->nodes[i];
    qsort(order, cluster->node_count, sizeof *order, compare_names);
    const struct adl_node *twin = NULL;
    for (uint32_t i = 1; i < cluster->node_count && !twin; i++)
        if (compare_names(&order[i - 1], &order[i]) == 0)
            twin = order[i - 1] > order[i] ? order[i - 1] : order[i];
    free(order);
    if (!twin)
        return 0;
    const struct adl_form_node *forms = reader->form->cluster.nodes.items;
    uint32_t index = 0;
    for (int64_t left = twin - cluster->nodes; left >= forms[index].count; index++)
        left -= forms[index].count;
    return adl_yaml_fail(reader->yaml, adl_yaml_line(forms[index].at, "name"), reader->err,
                         "cluster.nodes[%u].name: a second node is called '%s'", (unsigned)index, twin->name);
}

int adl_scenario_read_cluster(struct adl_scenario_reader *reader)
{
    reader->scenario->cluster.network_gbs = reader->form->cluster.network_gbs;
    int status = 0;
    for (uint32_t i = 0; i < reader->form->cluster.nodes.count && !status; i++)
        status = add_nodes(reader, i);
    return status ? status : check_node_names(reader);
}

static void copy_plain(const struct adl_scenario_form *form, struct adl_scenario *scenario)
{
    memcpy(scenario->name, form->name, sizeof scenario->name);
    memcpy(scenario->description, form->description, sizeof scenario->description);
    scenario->lambda = form->lambda;
    scenario->kill_at_limit = form->kill_at_limit;
    scenario->one_by_one = form->events;
    scenario->faults = form->faults;
    scenario->network = form->network;
    scenario->drift = form->drift.model;
    scenario->telemetry = form->telemetry;
    scenario->preemption = form->preemption.model;
}

/* Costs by number of GPUs; the same limit as for single costs, so that times do not overflow. */
static int read_costs(struct adl_scenario_reader *reader, const struct adl_yaml_list *list, const char *key,
                      double *ret_s)
{
    const struct adl_yaml_real *costs = list->items;
    for (uint32_t i = 0; i < list->count; i++) {
        if (costs[i].value > COST_MAX_S)
            return adl_yaml_fail(reader->yaml, costs[i].line, reader->err, "preemption.%s[%u] must be at most %.0f s",
                                 key, (unsigned)i, COST_MAX_S);
        ret_s[i] = costs[i].value;
    }
    return 0;
}

static int read_preemption(struct adl_scenario_reader *reader)
{
    const struct adl_form_preemption *form = &reader->form->preemption;
    struct adl_preemption *preemption = &reader->scenario->preemption;
    const int status = read_costs(reader, &form->restart_by_gpus_s, "restart_by_gpus_s", preemption->restart_by_gpus_s);
    return status ? status
                  : read_costs(reader, &form->rework_by_gpus_s, "rework_by_gpus_s", preemption->rework_by_gpus_s);
}

static int read_power_limits(struct adl_scenario_reader *reader)
{
    const struct adl_form_power_limit *list = reader->form->power_limit.items;
    struct adl_scenario *scenario = reader->scenario;
    for (uint32_t i = 0; i < reader->form->power_limit.count; i++) {
        if (i > 0 && !(list[i].limit.time_s > list[i - 1].limit.time_s))
            return adl_yaml_fail(reader->yaml, list[i].at->line, reader->err,
                                 "power_limit[%u].time_s must be above the one before it", (unsigned)i);
        scenario->power_limits[scenario->power_limit_count++] = list[i].limit;
    }
    return 0;
}

/* Builds everything but the texts; on failure the caller clears the partly built scenario. */
static int build(struct adl_scenario_reader *reader, bool with_jobs)
{
    copy_plain(reader->form, reader->scenario);
    if (with_jobs)
        reader->scenario->references = reader->form->references;
    int status = read_preemption(reader);
    status = status ? status : adl_scenario_read_cluster(reader);
    if (!status)
        status = with_jobs ? adl_scenario_read_workload(reader) : adl_scenario_make_class(reader);
    status = status ? status : adl_scenario_read_drift(reader);
    status = status ? status : read_power_limits(reader);
    status = status ? status : adl_scenario_read_policy(reader);
    if (status || !reader->form->variants)
        return status;
    return adl_scenario_read_variants(reader, reader->form->variants, &reader->scenario->variants,
                                      &reader->scenario->variant_count);
}

static int read_catalogue(struct adl_yaml *yaml, const struct adl_yaml_link *link,
                          const struct adl_scenario_source *source, struct adl_catalogue *ret, struct adl_error *err)
{
    struct adl_error inner = {{0}};
    char *text = NULL, *path = adl_path_beside(adl_yaml_name(yaml), link->text);
    size_t size = 0;
    if (!path)
        return adl_fail(err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(yaml));
    int status = source->read(source->context, path, &text, &size, &inner);
    if (status) {
        adl_yaml_fail(yaml, link->line, err, "catalogue: %s", inner.text);
    } else {
        status = adl_catalogue_parse(path, text, size, ret, err);
        free(text);
    }
    free(path);
    return status;
}

static int parse(const char *name, const char *text, size_t size, const struct adl_scenario_source *source,
                 bool with_jobs, struct adl_scenario *ret, struct adl_error *err)
{
    struct adl_yaml *yaml = NULL;
    int status = adl_yaml_parse(name, text, size, &yaml, err);
    if (status)
        return status;
    struct adl_scenario_form form;
    struct adl_scenario scenario = {0};
    struct adl_catalogue catalogue = {0};
    struct adl_scenario_reader reader = {.yaml = yaml,
                                         .form = &form,
                                         .catalogue = &catalogue,
                                         .throughputs = source->throughputs,
                                         .scenario = &scenario,
                                         .err = err};
    status = adl_yaml_read(yaml, &adl_scenario_table, &form, err);
    if (!status && with_jobs && !form.workload.at)
        status = adl_yaml_fail(yaml, adl_yaml_root(yaml)->line, err, "missing key 'workload' (the jobs)");
    status = status ? status : read_catalogue(yaml, &form.catalogue, source, &catalogue, err);
    status = status ? status : adl_catalogue_add_types(&catalogue, yaml, &form.gpu_types, err);
    status = status ? status : build(&reader, with_jobs);
    adl_catalogue_clear(&catalogue);
    adl_yaml_destroy(yaml);
    if (status) {
        adl_scenario_clear(&scenario);
        return status;
    }
    *ret = scenario;
    return 0;
}

int adl_scenario_parse(const char *name, const char *text, size_t size, const struct adl_scenario_source *source,
                       struct adl_scenario *ret, struct adl_error *err)
{
    return parse(name, text, size, source, true, ret, err);
}

int adl_cluster_parse(const char *name, const char *text, size_t size, const struct adl_scenario_source *source,
                      struct adl_scenario *ret, struct adl_error *err)
{
    return parse(name, text, size, source, false, ret, err);
}
