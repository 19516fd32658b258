#include "executor/slurm/slurm_messages.h"

#include "base/json.h"

#include <string.h>

static struct adl_json begin(struct adl_text *text, const char *op)
{
    struct adl_json json = adl_json_start(text, false);
    adl_json_object(&json);
    adl_json_key(&json, "op");
    adl_json_string(&json, op);
    return json;
}

static void put_job(struct adl_json *json, uint64_t seq, const struct adl_mirror_job *job)
{
    adl_json_key(json, "seq");
    adl_json_uint(json, seq);
    adl_json_key(json, "job");
    adl_json_int(json, job->external);
}

void adl_slurm_message_hello(struct adl_text *text, const struct adl_executor_slurm_config *config, uint32_t poll_ms)
{
    static const char *const modes[] = {"observe", "advise", "act"};
    struct adl_json json = begin(text, "hello");
    adl_json_key(&json, "partitions");
    adl_json_array(&json);
    for (uint32_t i = 0; i < config->partition_count; i++)
        adl_json_string(&json, config->partitions[i]);
    adl_json_end(&json);
    adl_json_key(&json, "mode");
    adl_json_string(&json, modes[config->mode]);
    adl_json_key(&json, "poll_ms");
    adl_json_uint(&json, poll_ms);
    adl_json_end(&json);
}

void adl_slurm_message_heartbeat(struct adl_text *text)
{
    struct adl_json json = begin(text, "heartbeat");
    adl_json_end(&json);
}

void adl_slurm_message_place(struct adl_text *text, uint64_t seq, const struct adl_cluster *cluster,
                             const struct adl_mirror_job *job, const char *comment)
{
    struct adl_json json = begin(text, "place");
    put_job(&json, seq, job);
    adl_json_key(&json, "nodes");
    adl_json_array(&json);
    for (uint32_t i = 0, count; i < job->gpu_count; i += count) {
        const uint32_t node = adl_gpu_node_of(cluster, job->gpus[i]);
        for (count = 1; i + count < job->gpu_count && adl_gpu_node_of(cluster, job->gpus[i + count]) == node;)
            count++;
        adl_json_object(&json);
        adl_json_key(&json, "node");
        adl_json_string(&json, cluster->nodes[node].name);
        adl_json_key(&json, "gpus");
        adl_json_uint(&json, count);
        adl_json_end(&json);
    }
    adl_json_end(&json);
    adl_json_key(&json, "type");
    adl_json_string(&json, cluster->types[adl_gpu_type_of(cluster, job->gpus[0])].name);
    adl_json_key(&json, "comment");
    adl_json_string(&json, comment);
    adl_json_end(&json);
}

void adl_slurm_message_job(struct adl_text *text, const char *op, uint64_t seq, const struct adl_mirror_job *job,
                           const char *comment)
{
    struct adl_json json = begin(text, op);
    put_job(&json, seq, job);
    adl_json_key(&json, strcmp(op, "comment") == 0 ? "text" : "comment");
    adl_json_string(&json, comment);
    adl_json_end(&json);
}
