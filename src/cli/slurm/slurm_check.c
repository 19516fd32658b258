#include "cli/slurm/slurm_check.h"

#include "base/index.h"
#include "base/suggest.h"
#include "scenario/text_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- findings ---- */

struct adl_finding *adl_slurm_check_add(struct adl_slurm_check *check, int level, const char *subject,
                                        const struct adl_slurm_conf *conf, const struct adl_slurm_setting *setting,
                                        const char *fmt, ...)
{
    va_list arguments;
    if (adl_grow((void **)&check->findings, &check->finding_capacity, check->finding_count + 1,
                 sizeof *check->findings)) {
        check->failed = true;
        return NULL;
    }
    struct adl_finding *finding = &check->findings[check->finding_count++];
    *finding = (struct adl_finding){.level = level, .subject = subject, .path = check->conf.files[0].path};
    if (setting) {
        finding->path = conf->files[setting->file].path;
        finding->line = setting->line;
    }
    va_start(arguments, fmt);
    vsnprintf(finding->text, sizeof finding->text, fmt, arguments);
    va_end(arguments);
    return finding;
}

size_t adl_slurm_check_count(const struct adl_slurm_check *check, int level)
{
    size_t count = 0;
    for (size_t i = 0; i < check->finding_count; i++)
        count += check->findings[i].level == level;
    return count;
}

/* ---- edits ---- */

static void add_edit(struct adl_slurm_check *check, const struct adl_slurm_file *file, size_t at, size_t end,
                     const char *text)
{
    char *copy = strdup(text);
    if (!copy || adl_grow((void **)&check->edits, &check->edit_capacity, check->edit_count + 1, sizeof *check->edits)) {
        free(copy);
        check->failed = true;
        return;
    }
    struct adl_slurm_edit *edit = &check->edits[check->edit_count++];
    *edit = (struct adl_slurm_edit){.file = file, .at = at, .end = end};
    edit->text = copy;
}

void adl_slurm_replace(struct adl_slurm_check *check, const struct adl_slurm_conf *conf,
                       const struct adl_slurm_setting *setting, const char *value)
{
    add_edit(check, &conf->files[setting->file], setting->value_at, setting->value_end, value);
}

void adl_slurm_append(struct adl_slurm_check *check, const struct adl_slurm_conf *conf, size_t line, const char *key,
                      const char *value)
{
    struct adl_text text = {0};
    const struct adl_slurm_line *at = &conf->lines[line];
    const struct adl_slurm_setting *last = &conf->settings[at->first + at->count - 1];
    const struct adl_slurm_file *file = &conf->files[last->file];
    size_t end = last->value_end;
    if (last->value_at > 0 && file->text[last->value_at - 1] == '"' && file->text[end] == '"')
        end++;
    adl_text_printf(&text, " %s=%s", key, value);
    if (adl_text_status(&text))
        check->failed = true;
    else
        add_edit(check, file, end, end, text.data);
    adl_text_clear(&text);
}

void adl_slurm_set(struct adl_slurm_check *check, const char *key, const char *value)
{
    const struct adl_slurm_setting *setting = adl_slurm_conf_find(&check->conf, key);
    if (setting) {
        adl_slurm_replace(check, &check->conf, setting, value);
        return;
    }
    if (check->added.size == 0)
        adl_text_put(&check->added, "# for adlro\n");
    adl_text_printf(&check->added, "%s=%s\n", key, value);
}

/* Makes the added lines an edit at the end of slurm.conf. */
static void add_lines(struct adl_slurm_check *check)
{
    const struct adl_slurm_file *file = &check->conf.files[0];
    struct adl_text text = {0};
    if (check->added.size == 0)
        return;
    adl_text_put(&text, file->size > 0 && file->text[file->size - 1] != '\n' ? "\n" : "");
    adl_text_bytes(&text, check->added.data, check->added.size);
    if (adl_text_status(&text) || adl_text_status(&check->added))
        check->failed = true;
    else
        add_edit(check, file, file->size, file->size, text.data);
    adl_text_clear(&text);
}

/* With the real path: patch follows no symbolic links and refuses "..". */
static int put_file(const struct adl_slurm_check *check, const struct adl_slurm_file *file, struct adl_text *ret,
                    struct adl_error *err)
{
    struct adl_edit *edits = malloc((check->edit_count + 1) * sizeof *edits);
    char *path = realpath(file->path, NULL);
    size_t count = 0;
    int status = 0;
    for (size_t i = 0; edits && i < check->edit_count; i++)
        if (check->edits[i].file == file)
            edits[count++] = (struct adl_edit){check->edits[i].at, check->edits[i].end, check->edits[i].text};
    if (!path)
        status = adl_fail(err, ADL_EIO, "cannot find %.200s any more: %s", file->path, strerror(errno));
    else if (strpbrk(path, "\n\r"))
        status = adl_fail(err, ADL_EINVAL, "a path with a line feed cannot be written in a diff");
    else if (!edits || adl_diff_put(ret, path, file->text, file->size, edits, count))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the diff");
    free(edits);
    free(path);
    return status;
}

int adl_slurm_check_diff(const struct adl_slurm_check *check, struct adl_text *ret, struct adl_error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < check->conf.file_count; i++)
        status = put_file(check, &check->conf.files[i], ret, err);
    for (size_t i = 0; status == 0 && i < check->gres.file_count; i++)
        status = put_file(check, &check->gres.files[i], ret, err);
    return status;
}

/* ---- lists ---- */

const char *adl_slurm_option(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t size = strcspn(at, "=,");
        char word[64];
        if (size != length || size >= sizeof word)
            continue;
        memcpy(word, at, size);
        word[size] = '\0';
        if (adl_slurm_same(word, name))
            return at[size] == '=' ? at + size + 1 : "";
    }
    return NULL;
}

bool adl_slurm_has(const char *list, const char *word)
{
    const char *value = adl_slurm_option(list, word);
    return value && *value == '\0';
}

/* ---- partitions ---- */

static int find_partition(struct adl_slurm_check *check, const char *name, struct adl_error *err)
{
    struct adl_suggest suggest = {.word = name};
    char phrase[ADL_PHRASE_SIZE], quoted[ADL_QUOTE_SIZE];
    for (size_t i = 0; i < check->layout.partition_count; i++) {
        if (strcmp(check->layout.partitions[i].name, name) == 0) {
            check->ours[i] = true;
            return 0;
        }
        adl_suggest_offer(&suggest, check->layout.partitions[i].name);
    }
    return adl_fail(err, ADL_EINVAL, "%.200s has no partition %s%s", check->conf.files[0].path, adl_quote(name, quoted),
                    adl_suggest_phrase(&suggest, phrase));
}

static bool has_gpus(const struct adl_slurm_layout *layout, uint32_t node)
{
    const struct adl_slurm_setting *gres = adl_slurm_line_inherit(layout->conf, layout->nodes[node].line, "Gres");
    struct adl_layout_gpus gpus;
    adl_layout_gpus_read(gres ? gres->value : NULL, &gpus);
    return gpus.count > 0;
}

static void choose_partitions(struct adl_slurm_check *check)
{
    for (size_t i = 0; i < check->layout.partition_count; i++) {
        const struct adl_layout_partition *partition = &check->layout.partitions[i];
        for (size_t j = 0; j < partition->node_count && !check->ours[i]; j++)
            check->ours[i] = has_gpus(&check->layout, partition->nodes[j]);
    }
}

static int name_partitions(struct adl_slurm_check *check, const char *list, struct adl_error *err)
{
    int status = 0;
    for (const char *at = list; status == 0 && *at; at += strcspn(at, ","), at += *at == ',') {
        char name[256];
        const size_t size = strcspn(at, ",");
        if (size == 0 || size >= sizeof name)
            return adl_fail(err, ADL_EINVAL, "--partitions wants names with commas between them, as gpu,long");
        memcpy(name, at, size);
        name[size] = '\0';
        status = find_partition(check, name, err);
    }
    return status;
}

static int find_ours(struct adl_slurm_check *check, struct adl_error *err)
{
    const char *list = check->request.partitions;
    check->ours = calloc(check->layout.partition_count + 1, sizeof *check->ours);
    check->ours_node = calloc(check->layout.node_count + 1, sizeof *check->ours_node);
    if (!check->ours || !check->ours_node)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    if (list && *list == '\0')
        return adl_fail(err, ADL_EINVAL, "--partitions wants names with commas between them, as gpu,long");
    const int status = list ? name_partitions(check, list, err) : 0;
    if (!list)
        choose_partitions(check);
    for (size_t i = 0; i < check->layout.partition_count; i++)
        for (size_t j = 0; check->ours[i] && j < check->layout.partitions[i].node_count; j++)
            check->ours_node[check->layout.partitions[i].nodes[j]] = true;
    return status;
}

/* ---- all of it ---- */

static int read_files(struct adl_slurm_check *check, struct adl_error *err)
{
    int status = adl_slurm_conf_load(check->request.conf, &check->conf, err);
    if (status)
        return status;
    check->gres_path = adl_path_beside(check->request.conf, "gres.conf");
    if (!check->gres_path)
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    check->has_gres = access(check->gres_path, F_OK) == 0;
    if (check->has_gres)
        status = adl_slurm_conf_load(check->gres_path, &check->gres, err);
    return status ? status : adl_slurm_layout_read(&check->conf, &check->layout, err);
}

/* Stable, because the order of the rules is the order of the report. */
static void sort_findings(struct adl_slurm_check *check)
{
    struct adl_finding *sorted = malloc((check->finding_count + 1) * sizeof *sorted);
    size_t used = 0;
    if (!sorted) {
        check->failed = true;
        return;
    }
    for (int level = 0; level < ADL_FINDING_LEVELS; level++)
        for (size_t i = 0; i < check->finding_count; i++)
            if (check->findings[i].level == level)
                sorted[used++] = check->findings[i];
    free(check->findings);
    check->findings = sorted;
    check->finding_capacity = check->finding_count + 1;
}

int adl_slurm_check_run(const struct adl_slurm_check_request *request, struct adl_slurm_check *ret,
                        struct adl_error *err)
{
    struct adl_slurm_check check = {.request = *request};
    int status = read_files(&check, err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    check.layout.conf = &check.conf;
    status = status ? status : find_ours(&check, err);
    if (status == 0) {
        adl_slurm_rules(&check);
        adl_slurm_queue_rules(&check);
        status = adl_slurm_gpu_rules(&check, err);
    }
    if (status == 0) {
        add_lines(&check);
        sort_findings(&check);
        status = check.failed ? adl_fail(err, ADL_ENOMEM, "out of memory") : 0;
    }
    if (status) {
        adl_slurm_check_clear(&check);
        return status;
    }
    *ret = check;
    ret->layout.conf = &ret->conf;
    return 0;
}

void adl_slurm_check_clear(struct adl_slurm_check *check)
{
    adl_slurm_layout_clear(&check->layout);
    adl_slurm_conf_clear(&check->conf);
    adl_slurm_conf_clear(&check->gres);
    for (size_t i = 0; i < check->edit_count; i++)
        free(check->edits[i].text);
    free(check->edits);
    free(check->findings);
    free(check->ours);
    free(check->ours_node);
    free(check->gres_path);
    adl_text_clear(&check->added);
    *check = (struct adl_slurm_check){0};
}
