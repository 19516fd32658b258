/* fuzz_slurm_conf: a slurm.conf of any bytes, which may include itself: every value is where it is said to be, and
 * reading the nodes and partitions of it ends. */
#include "executor/slurm/slurm_layout.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Included files are the second half of the input, so that they end. */
static int read_half(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    const struct input *input = context;
    const size_t from = input->size / 2;
    char *text = malloc(input->size - from + 1);
    if (!text || !path)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    if (input->size > from)
        memcpy(text, input->data + from, input->size - from);
    text[input->size - from] = '\0';
    *ret_text = text;
    *ret_size = input->size - from;
    return 0;
}

static void check_settings(const struct adl_slurm_conf *conf)
{
    for (size_t i = 0; i < conf->setting_count; i++) {
        const struct adl_slurm_setting *setting = &conf->settings[i];
        must(setting->file < conf->file_count && setting->line >= 1 && *setting->key);
        const struct adl_slurm_file *file = &conf->files[setting->file];
        must(setting->value_at <= setting->value_end && setting->value_end <= file->size);
        must(strlen(setting->value) <= setting->value_end - setting->value_at);
        if (*setting->value && file->text[setting->value_at] != '\\')
            must(file->text[setting->value_at] == *setting->value);
    }
    for (size_t i = 0; i < conf->line_count; i++) {
        must(conf->lines[i].count > 0 && conf->lines[i].first + conf->lines[i].count <= conf->setting_count);
        must(adl_slurm_line_inherit(conf, i, conf->settings[conf->lines[i].first].key) != NULL);
    }
}

static void check_cluster(const struct adl_slurm_conf *conf)
{
    struct adl_slurm_layout cluster;
    struct adl_layout_gpus gpus;
    struct adl_error err = {{0}};
    for (size_t i = 0; i < conf->setting_count; i++)
        adl_layout_gpus_read(conf->settings[i].value, &gpus);
    if (adl_slurm_layout_read(conf, &cluster, &err)) {
        must(strchr(err.text, ':') != NULL);
        return;
    }
    for (size_t i = 0; i < cluster.partition_count; i++)
        for (size_t k = 0; k < cluster.partitions[i].node_count; k++)
            must(cluster.partitions[i].nodes[k] < cluster.node_count);
    adl_slurm_layout_clear(&cluster);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const struct adl_slurm_source source = {read_half, &input};
    struct adl_slurm_conf conf;
    struct adl_error err = {{0}};
    if (adl_slurm_conf_parse("conf", (const char *)data, size, &source, &conf, &err)) {
        must(*err.text != '\0');
        return 0;
    }
    check_settings(&conf);
    check_cluster(&conf);
    adl_slurm_conf_clear(&conf);
    return 0;
}
