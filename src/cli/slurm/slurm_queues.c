/* slurm_queues: what partitions of a Slurm cluster mean for adlro. */
#include "base/suggest.h"
#include "cli/slurm/slurm_check.h"

#include <stdlib.h>
#include <string.h>

#define OK     ADL_FINDING_OK
#define WARN   ADL_FINDING_WARN
#define CHANGE ADL_FINDING_CHANGE

#define ADD(level, key, setting, ...) adl_slurm_check_add(check, level, key, &check->conf, setting, __VA_ARGS__)

static const struct adl_slurm_setting *name_of(const struct adl_slurm_check *check,
                                               const struct adl_layout_partition *partition)
{
    return &check->conf.settings[check->conf.lines[partition->line].first];
}

static bool has_gpus(const struct adl_slurm_check *check, uint32_t node)
{
    const struct adl_slurm_setting *gres = adl_slurm_line_inherit(&check->conf, check->layout.nodes[node].line, "Gres");
    struct adl_layout_gpus gpus;
    adl_layout_gpus_read(gres ? gres->value : NULL, &gpus);
    return gpus.count > 0;
}

static void check_nodes(struct adl_slurm_check *check, const struct adl_layout_partition *partition)
{
    const struct adl_slurm_setting *at = name_of(check, partition);
    size_t with = 0;
    const char *without = NULL;
    char quoted[ADL_QUOTE_SIZE], node[ADL_QUOTE_SIZE];
    for (size_t i = 0; i < partition->node_count; i++) {
        if (has_gpus(check, partition->nodes[i]))
            with++;
        else
            without = check->layout.nodes[partition->nodes[i]].name;
    }
    adl_quote(partition->name, quoted);
    if (*partition->absent)
        ADD(WARN, "PartitionName", at, "%s names %s, which is neither a node nor a node set of this file.", quoted,
            adl_quote(partition->absent, node));
    if (with == 0)
        ADD(CHANGE, "PartitionName", at,
            "%s has %zu nodes, and none of them has Gres=gpu:TYPE:COUNT: there is nothing for adlro to place jobs on. "
            "Give its nodes their GPUs, or name another partition.",
            quoted, partition->node_count);
    else if (without)
        ADD(WARN, "PartitionName", at,
            "%s has %zu nodes with GPUs and %zu without, such as %s: adlro places GPU jobs and leaves those nodes to "
            "Slurm.",
            quoted, with, partition->node_count - with, adl_quote(without, node));
    else
        ADD(OK, "PartitionName", at, "%s has %zu nodes, all of them with GPUs.", quoted, with);
}

/* Partitions of others that share nodes with adlro's. */
static void check_shared(struct adl_slurm_check *check, const struct adl_layout_partition *partition)
{
    char quoted[ADL_QUOTE_SIZE], node[ADL_QUOTE_SIZE];
    const struct adl_slurm_setting *state = adl_slurm_line_inherit(&check->conf, partition->line, "State");
    if (state && adl_slurm_same(state->value, "INACTIVE"))
        return;
    for (size_t i = 0; i < partition->node_count; i++)
        if (check->ours_node[partition->nodes[i]] && has_gpus(check, partition->nodes[i])) {
            ADD(WARN, "PartitionName", name_of(check, partition),
                "%s is not among adlro's partitions but shares nodes with them, such as %s: Slurm places its jobs "
                "there on its own, and adlro plans around them only once they run. Name it in --partitions too, or "
                "take the nodes out.",
                adl_quote(partition->name, quoted), adl_quote(check->layout.nodes[partition->nodes[i]].name, node));
            return;
        }
}

/* OverSubscribe, formerly Shared, and ExclusiveUser of a partition. */
static void check_sharing(struct adl_slurm_check *check, const struct adl_layout_partition *partition)
{
    static const char key[] = "OverSubscribe";
    const size_t line = partition->line;
    const struct adl_slurm_setting *setting = adl_slurm_line_inherit(&check->conf, line, key);
    const struct adl_slurm_setting *user = adl_slurm_line_inherit(&check->conf, line, "ExclusiveUser");
    char quoted[ADL_QUOTE_SIZE];
    if (!setting)
        setting = adl_slurm_line_inherit(&check->conf, line, "Shared");
    adl_quote(partition->name, quoted);
    if (setting && adl_slurm_same(setting->value, "EXCLUSIVE")) {
        struct adl_finding *finding =
            ADD(CHANGE, key, setting,
                "EXCLUSIVE gives whole nodes to jobs of %s: a job with one GPU takes all of its node's, and what adlro "
                "places beside it never starts. It has to be NO; jobs that need whole nodes say --exclusive.",
                quoted);
        if (finding)
            finding->edited = true;
        if (adl_slurm_line_find(&check->conf, line, key) == setting ||
            adl_slurm_line_find(&check->conf, line, "Shared") == setting)
            adl_slurm_replace(check, &check->conf, setting, "NO");
        else
            adl_slurm_append(check, &check->conf, line, key, "NO");
    } else if (setting && strlen(setting->value) >= 5 && (setting->value[0] | 32) == 'f') {
        ADD(WARN, key, setting, "FORCE lets jobs of %s share CPUs; GPUs are never shared by it.", quoted);
    }
    if (user && adl_slurm_same(user->value, "YES"))
        ADD(WARN, "ExclusiveUser", user,
            "Nodes of %s belong to one user at a time: what adlro places there for another waits until the node is "
            "empty.",
            quoted);
}

void adl_slurm_queue_rules(struct adl_slurm_check *check)
{
    size_t ours = 0;
    for (size_t i = 0; i < check->layout.partition_count; i++) {
        const struct adl_layout_partition *partition = &check->layout.partitions[i];
        if (check->ours[i]) {
            check_nodes(check, partition);
            check_sharing(check, partition);
            ours++;
        } else {
            check_shared(check, partition);
        }
    }
    if (ours == 0)
        ADD(CHANGE, "PartitionName", NULL,
            "No partition has nodes with GPUs: nodes need Gres=gpu:TYPE:COUNT, and a partition has to have them.");
}
