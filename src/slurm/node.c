#include "slurm/node.h"

#include "base/json.h"
#include "slurm/version.h"

#include <slurm/slurm.h>
#include <string.h>

static const char *base_word(uint32_t state)
{
    switch (state & NODE_STATE_BASE) {
    case NODE_STATE_DOWN:
        return "down";
    case NODE_STATE_IDLE:
        return "idle";
    case NODE_STATE_ALLOCATED:
        return "allocated";
    case NODE_STATE_MIXED:
        return "mixed";
    case NODE_STATE_FUTURE:
        return "future";
    default:
        return "unknown";
    }
}

static const struct {
    uint32_t flag;
    const char *word;
} obstacles[] = {
    {NODE_STATE_DRAIN, "drained"},
    {NODE_STATE_FAIL, "failing"},
    {NODE_STATE_INVALID_REG, "invalid"},
    {NODE_STATE_NO_RESPOND, "silent"},
    {NODE_STATE_MAINT, "maintenance"},
    {NODE_STATE_REBOOT_ISSUED, "rebooting"},
    {NODE_STATE_REBOOT_REQUESTED, "rebooting"},
    {NODE_STATE_POWERED_DOWN, "powered down"},
    {NODE_STATE_POWERING_DOWN, "powering down"},
    {NODE_STATE_POWERING_UP, "powering up"},
};

/* Why it takes no jobs; NULL if it does. */
static const char *obstacle_of(uint32_t state)
{
    for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++) {
        if (state & obstacles[i].flag)
            return obstacles[i].word;
    }
    const uint32_t base = state & NODE_STATE_BASE;
    return base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED ? NULL
                                                                                               : base_word(state);
}

void adl_slurm_node_read(const struct node_info *info, struct adl_slurm_node *ret)
{
    *ret = (struct adl_slurm_node){
        .name = info->name,
        .features = info->features_act ? info->features_act : info->features,
        .gpus = adl_gres_parse(info->gres),
        .used = adl_gres_parse(info->gres_used),
        .cpus = info->cpus_efctv ? info->cpus_efctv : info->cpus,
        .memory_mib = info->real_memory - (info->mem_spec_limit == NO_VAL64 ? 0 : info->mem_spec_limit),
        .usable = !obstacle_of(info->node_state),
    };
}

static void write_gpus(struct adl_json *json, const struct adl_slurm_node *node)
{
    adl_json_array(json);
    for (uint32_t i = 0; i < node->gpus.count; i++) {
        const struct adl_gpu_count *gpus = &node->gpus.items[i];
        uint32_t used = 0;
        for (uint32_t k = 0; k < node->used.count; k++) {
            if (strcmp(node->used.items[k].type, gpus->type) == 0)
                used = node->used.items[k].count;
        }
        adl_json_object(json);
        adl_json_key(json, "type");
        adl_json_string(json, gpus->type[0] ? gpus->type : "gpu");
        adl_json_key(json, "count");
        adl_json_uint(json, gpus->count);
        adl_json_key(json, "used");
        adl_json_uint(json, used);
        adl_json_end(json);
    }
    adl_json_end(json);
}

static void write_list(struct adl_json *json, const char *list)
{
    adl_json_array(json);
    char word[128];
    for (const char *at = list ? list : ""; *at;) {
        const size_t size = strcspn(at, ",");
        if (size > 0 && size < sizeof word) {
            memcpy(word, at, size);
            word[size] = '\0';
            adl_json_string(json, word);
        }
        at += size;
        at += *at == ',';
    }
    adl_json_end(json);
}

static void write_partitions(struct adl_json *json, const struct adl_slurm_cluster *cluster, const char *name)
{
    adl_json_array(json);
    const struct partition_info_msg *message = cluster->partition_msg;
    for (uint32_t i = 0; message && i < message->record_count; i++) {
        if (adl_slurm_hosts_have(message->partition_array[i].nodes, name))
            adl_json_string(json, message->partition_array[i].name);
    }
    adl_json_end(json);
}

static void write_real(struct adl_json *json, const char *key, double value, bool known)
{
    adl_json_key(json, key);
    if (known)
        adl_json_real(json, value);
    else
        adl_json_null(json);
}

static void write_draw(struct adl_json *json, const char *meter, const struct node_info *info)
{
    struct adl_slurm_draw draw = {.watts = -1};
    const bool known = meter && adl_slurm_node_draw(info, &draw);
    adl_json_key(json, "meter");
    if (meter)
        adl_json_string(json, meter);
    else
        adl_json_null(json);
    write_real(json, "joules", draw.joules, known);
    write_real(json, "watts", draw.watts, draw.watts >= 0);
    adl_json_key(json, "read_s");
    adl_json_int(json, draw.read_s);
}

void adl_slurm_node_write(const struct adl_slurm_cluster *cluster, const struct node_info *info,
                          const struct adl_slurm_node *node, struct adl_text *line)
{
    const char *why = obstacle_of(info->node_state);
    struct adl_json json = adl_json_start(line, false);
    adl_json_object(&json);
    adl_json_key(&json, "ev");
    adl_json_string(&json, "node");
    adl_json_key(&json, "name");
    adl_json_string(&json, node->name);
    adl_json_key(&json, "state");
    adl_json_string(&json, why ? why : base_word(info->node_state));
    adl_json_key(&json, "usable");
    adl_json_bool(&json, node->usable);
    adl_json_key(&json, "why");
    adl_json_string(&json, why && info->reason ? info->reason : why ? why : "");
    adl_json_key(&json, "cpus");
    adl_json_uint(&json, node->cpus);
    adl_json_key(&json, "cpus_used");
    adl_json_uint(&json, adl_slurm_node_cpus_used(info));
    adl_json_key(&json, "memory_mib");
    adl_json_uint(&json, node->memory_mib);
    adl_json_key(&json, "memory_used_mib");
    adl_json_uint(&json, adl_slurm_node_memory_used_mib(info));
    adl_json_key(&json, "gpus");
    write_gpus(&json, node);
    adl_json_key(&json, "features");
    write_list(&json, node->features);
    adl_json_key(&json, "partitions");
    write_partitions(&json, cluster, node->name);
    write_draw(&json, cluster->meter, info);
    adl_json_end(&json);
}
