#include "slurm/protocol.h"

#include "base/json.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum adl_slurm_op op;
    bool about_job;
} ops[] = {
    {"hello", ADL_SLURM_HELLO, false},      {"place", ADL_SLURM_PLACE, true},
    {"requeue", ADL_SLURM_REQUEUE, true},   {"hold", ADL_SLURM_HOLD, true},
    {"cancel", ADL_SLURM_CANCEL, true},     {"comment", ADL_SLURM_COMMENT, true},
    {"giveback", ADL_SLURM_GIVEBACK, true}, {"heartbeat", ADL_SLURM_HEARTBEAT, false},
    {"bye", ADL_SLURM_BYE, false},
};

static int read_text(const cJSON *json, const char *key, char *ret, size_t size, struct adl_error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!item)
        return 0;
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= size)
        return adl_fail(err, ADL_EINVAL, "%s has to be a text of less than %zu bytes", key, size);
    memcpy(ret, item->valuestring, strlen(item->valuestring) + 1);
    return 0;
}

static bool is_whole(const cJSON *item, double min, double max)
{
    return cJSON_IsNumber(item) && item->valuedouble >= min && item->valuedouble <= max &&
           item->valuedouble == (double)(int64_t)item->valuedouble;
}

static int read_nodes(const cJSON *json, struct adl_slurm_order *order, struct adl_error *err)
{
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(json, "nodes");
    const cJSON *node;
    cJSON_ArrayForEach(node, nodes)
    {
        const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(node, "gpus");
        if (order->node_count == ADL_SLURM_ORDER_NODES_MAX)
            return adl_fail(err, ADL_EINVAL, "more than %d nodes", ADL_SLURM_ORDER_NODES_MAX);
        struct adl_slurm_order_node *target = &order->nodes[order->node_count];
        *target = (struct adl_slurm_order_node){.name = ""};
        const int status = read_text(node, "node", target->name, sizeof target->name, err);
        if (status != 0)
            return status;
        if (target->name[0] == '\0' || !is_whole(gpus, 1, 4096))
            return adl_fail(err, ADL_EINVAL, "nodes have to be [{\"node\":NAME,\"gpus\":COUNT}, ...]");
        target->gpus = (uint32_t)gpus->valuedouble;
        order->node_count++;
    }
    if (order->node_count == 0)
        return adl_fail(err, ADL_EINVAL, "place without nodes");
    return 0;
}

static int read_hello(const cJSON *json, struct adl_slurm_order *order, struct adl_error *err)
{
    static const char *const modes[] = {"observe", "advise", "act"};
    char mode[16] = "observe";
    int status = read_text(json, "mode", mode, sizeof mode, err);
    if (status != 0)
        return status;
    size_t index = 0;
    while (index < 3 && strcmp(mode, modes[index]) != 0)
        index++;
    if (index == 3)
        return adl_fail(err, ADL_EINVAL, "mode is observe, advise or act, not '%s'", mode);
    order->mode = (enum adl_slurm_mode)index;
    const cJSON *poll_ms = cJSON_GetObjectItemCaseSensitive(json, "poll_ms");
    if (poll_ms && !is_whole(poll_ms, 10, 60000))
        return adl_fail(err, ADL_EINVAL, "poll_ms is 10 to 60000");
    order->poll_ms = poll_ms ? (uint32_t)poll_ms->valuedouble : 200;
    const cJSON *name;
    cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(json, "partitions"))
    {
        if (!cJSON_IsString(name) || strlen(name->valuestring) >= sizeof order->partitions[0] ||
            order->partition_count == ADL_PARTITIONS_MAX)
            return adl_fail(err, ADL_EINVAL, "partitions has to be a list of at most %d names", ADL_PARTITIONS_MAX);
        snprintf(order->partitions[order->partition_count++], sizeof order->partitions[0], "%s", name->valuestring);
    }
    return 0;
}

static int read_order(const cJSON *json, struct adl_slurm_order *order, struct adl_error *err)
{
    char name[16] = "";
    int status = read_text(json, "op", name, sizeof name, err);
    if (status != 0)
        return status;
    size_t index = 0;
    const size_t op_count = sizeof ops / sizeof *ops;
    while (index < op_count && strcmp(ops[index].name, name) != 0)
        index++;
    if (index == op_count)
        return adl_fail(err, ADL_EINVAL, "there is no op '%s'", name);
    order->op = ops[index].op;
    if (ops[index].about_job) {
        const cJSON *job = cJSON_GetObjectItemCaseSensitive(json, "job");
        if (!is_whole(job, 1, 9007199254740991.0))
            return adl_fail(err, ADL_EINVAL, "%s: job has to be the number of a job", name);
        order->job = (uint64_t)job->valuedouble;
    }
    status = read_text(json, order->op == ADL_SLURM_COMMENT ? "text" : "comment", order->text, sizeof order->text, err);
    if (status == 0)
        status = read_text(json, "type", order->type, sizeof order->type, err);
    if (status == 0 && order->op == ADL_SLURM_PLACE)
        status = read_nodes(json, order, err);
    if (status == 0 && order->op == ADL_SLURM_HELLO)
        status = read_hello(json, order, err);
    return status;
}

int adl_slurm_order_read(const char *line, struct adl_slurm_order *ret, struct adl_error *err)
{
    ret->seq = -1;
    cJSON *json = cJSON_Parse(line);
    if (!cJSON_IsObject(json)) {
        cJSON_Delete(json);
        return adl_fail(err, ADL_EINVAL, "not a JSON object: %.100s", line);
    }
    const cJSON *seq = cJSON_GetObjectItemCaseSensitive(json, "seq");
    if (is_whole(seq, 0, 9007199254740991.0))
        ret->seq = (int64_t)seq->valuedouble;
    static struct adl_slurm_order order; /* too large for a stack; one thread reads */
    order = (struct adl_slurm_order){.seq = ret->seq};
    const int status = read_order(json, &order, err);
    cJSON_Delete(json);
    if (status == 0)
        *ret = order;
    return status;
}

static struct adl_json start(struct adl_text *out, const char *ev)
{
    struct adl_json json = adl_json_start(out, false);
    adl_json_object(&json);
    adl_json_key(&json, "ev");
    adl_json_string(&json, ev);
    return json;
}

static void finish(struct adl_json *json)
{
    adl_json_end(json);
    adl_text_char(json->text, '\n');
}

void adl_slurm_write_up(struct adl_text *out, const char *version, const char *cluster)
{
    struct adl_json json = start(out, "up");
    adl_json_key(&json, "version");
    adl_json_string(&json, version);
    adl_json_key(&json, "cluster");
    adl_json_string(&json, cluster);
    finish(&json);
}

void adl_slurm_write_down(struct adl_text *out, const char *why)
{
    struct adl_json json = start(out, "down");
    adl_json_key(&json, "why");
    adl_json_string(&json, why);
    finish(&json);
}

void adl_slurm_write_synced(struct adl_text *out, uint64_t seq)
{
    struct adl_json json = start(out, "synced");
    adl_json_key(&json, "seq");
    adl_json_uint(&json, seq);
    finish(&json);
}

void adl_slurm_write_done(struct adl_text *out, int64_t seq, int status, const struct adl_error *err)
{
    if (seq < 0)
        return;
    struct adl_json json = start(out, "done");
    adl_json_key(&json, "seq");
    adl_json_int(&json, seq);
    adl_json_key(&json, "ok");
    adl_json_bool(&json, status == 0);
    if (status != 0) {
        adl_json_key(&json, "error");
        adl_json_string(&json, err->text);
        adl_json_key(&json, "absent");
        adl_json_bool(&json, status == ADL_EABSENT);
    }
    finish(&json);
}
