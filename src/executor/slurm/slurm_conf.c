#include "executor/slurm/slurm_conf.h"

#include "base/index.h"
#include "base/suggest.h"
#include "scenario/text_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One file being read: a line of it, joined and unescaped, and where each of its characters stood. */
struct reading {
    struct adl_slurm_conf *conf;
    const struct adl_slurm_source *source;
    const char *root; /* the file that all relative names are beside */
    uint32_t depth;
};

struct joined {
    char *text;
    size_t *at;
    size_t size;
    size_t word_count; /* bytes of the file's words used so far */
    uint32_t line;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_key(char c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '_' || c == '.';
}

bool adl_slurm_same(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    return lower(*a) == lower(*b);
}

/* ---- lines ---- */

/* Where the content of a physical line ends: at its comment, or at its end. */
static size_t end_of_content(const char *text, size_t at, size_t end)
{
    bool escaped = false;
    for (; at < end; at++) {
        if (text[at] == '#' && !escaped)
            break;
        escaped = text[at] == '\\' && !escaped;
    }
    return at;
}

/* Whether an odd number of backslashes, and after them at most blanks, ends the line; *end is then where they do. */
static bool is_continued(const char *text, size_t at, size_t *end)
{
    size_t last = *end, count = 0;
    while (last > at && is_blank(text[last - 1]))
        last--;
    while (last - count > at && text[last - 1 - count] == '\\')
        count++;
    if (count % 2 == 1)
        *end = last - 1;
    return count % 2 == 1;
}

static void join(struct joined *joined, const char *text, size_t at, size_t end)
{
    for (; at < end; at++) {
        joined->at[joined->size] = at;
        if (text[at] == '\\' && at + 1 < end)
            at++;
        joined->text[joined->size++] = text[at];
    }
}

/* Reads one line with those that continue it; returns where the next begins. */
static size_t next_line(const struct adl_slurm_file *file, size_t at, struct joined *joined, uint32_t *line)
{
    bool more = true;
    joined->size = 0;
    joined->line = *line + 1;
    while (more && at < file->size) {
        const char *feed = memchr(file->text + at, '\n', file->size - at);
        const size_t next = feed ? (size_t)(feed - file->text) + 1 : file->size;
        size_t end = end_of_content(file->text, at, feed ? next - 1 : next);
        more = is_continued(file->text, at, &end);
        join(joined, file->text, at, end);
        at = next;
        ++*line;
    }
    return at;
}

/* ---- settings ---- */

static int wrong_pair(const struct adl_slurm_file *file, const struct joined *joined, size_t at, struct adl_error *err)
{
    char word[ADL_QUOTE_SIZE], quoted[ADL_QUOTE_SIZE];
    const size_t left = joined->size - at, length = left < sizeof word - 1 ? left : sizeof word - 1;
    memcpy(word, joined->text + at, length);
    word[length] = '\0';
    return adl_fail(err, ADL_EINVAL, "%.200s:%u: Key=value is expected, got %s", file->path, joined->line,
                    adl_quote(word, quoted));
}

static const char *keep_word(struct adl_slurm_file *file, struct joined *joined, size_t at, size_t end)
{
    char *word = file->words + joined->word_count;
    memcpy(word, joined->text + at, end - at);
    word[end - at] = '\0';
    joined->word_count += end - at + 1;
    assert(joined->word_count <= file->size + 2); /* '=' and a blank or the line's end became the zeros */
    return word;
}

static void skip_blanks(const struct joined *joined, size_t *at)
{
    while (*at < joined->size && is_blank(joined->text[*at]))
        ++*at;
}

/* The value that begins at *at: up to a blank, or between quotes if a blank or nothing follows them. */
static bool read_value(const struct joined *joined, size_t *at, size_t *ret_begin, size_t *ret_end)
{
    const char *text = joined->text;
    size_t begin = *at, end = begin;
    if (begin < joined->size && text[begin] == '"') {
        const char *quote = memchr(text + begin + 1, '"', joined->size - begin - 1);
        end = quote ? (size_t)(quote - text) : joined->size;
        if (quote && (end + 1 == joined->size || is_blank(text[end + 1]))) {
            *at = end + 1;
            *ret_begin = begin + 1;
            *ret_end = end;
            return true;
        }
        end = begin;
    }
    while (end < joined->size && !is_blank(text[end]))
        end++;
    *ret_begin = begin;
    *at = *ret_end = end;
    return end > begin;
}

static int read_pair(struct adl_slurm_conf *conf, uint32_t file_index, struct joined *joined, size_t *at,
                     struct adl_error *err)
{
    struct adl_slurm_file *file = &conf->files[file_index];
    const size_t start = *at;
    size_t begin, end, i = start;
    while (i < joined->size && is_key(joined->text[i]))
        i++;
    const size_t key_end = i;
    skip_blanks(joined, &i);
    if (i < joined->size && strchr("-*+/", joined->text[i]))
        i++;
    if (key_end == start || i >= joined->size || joined->text[i] != '=')
        return wrong_pair(file, joined, start, err);
    i++;
    skip_blanks(joined, &i);
    if (!read_value(joined, &i, &begin, &end))
        return wrong_pair(file, joined, start, err);
    if (adl_grow((void **)&conf->settings, &conf->setting_capacity, conf->setting_count + 1, sizeof *conf->settings))
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", file->path);
    struct adl_slurm_setting *setting = &conf->settings[conf->setting_count++];
    *setting = (struct adl_slurm_setting){.file = file_index, .line = joined->line};
    setting->key = keep_word(file, joined, start, key_end);
    setting->value = keep_word(file, joined, begin, end);
    setting->value_at = begin < joined->size ? joined->at[begin] : file->size;
    setting->value_end = end > begin ? joined->at[end - 1] + 1 : setting->value_at;
    if (end > begin && file->text[setting->value_end - 1] == '\\')
        setting->value_end++; /* an escaped character stands where its backslash does */
    *at = i;
    return 0;
}

/* ---- files ---- */

static int read_file(const struct reading *reading, char *path, char *text, size_t size, struct adl_error *err);

/* %c becomes the name of the cluster, as far as it was read. malloc'd. */
static char *put_cluster(const struct adl_slurm_conf *conf, const char *name, size_t size)
{
    const struct adl_slurm_setting *cluster = adl_slurm_conf_find(conf, "ClusterName");
    const char *value = cluster ? cluster->value : "";
    const size_t value_size = strlen(value);
    char *path = malloc(size + size / 2 * value_size + 1);
    size_t used = 0;
    for (size_t i = 0; path && i < size; i++) {
        if (name[i] == '%' && i + 1 < size && name[i + 1] == 'c') {
            memcpy(path + used, value, value_size);
            used += value_size;
            i++;
        } else {
            path[used++] = name[i];
        }
    }
    if (path)
        path[used] = '\0';
    return path;
}

static int include(const struct reading *reading, uint32_t file, const struct joined *joined, size_t at,
                   struct adl_error *err)
{
    const char *from = reading->conf->files[file].path;
    const struct reading inner = {reading->conf, reading->source, reading->root, reading->depth + 1};
    struct adl_error why = {{0}};
    char *text = NULL;
    size_t size = 0, end = at;
    while (end < joined->size && !is_blank(joined->text[end]))
        end++;
    if (end - at > 1024)
        return adl_fail(err, ADL_EINVAL, "%.200s:%u: the name after Include has more than 1024 bytes", from,
                        joined->line);
    if (inner.depth > ADL_SLURM_CONF_DEPTH_MAX)
        return adl_fail(err, ADL_EINVAL, "%.200s:%u: files include one another more than %u deep", from, joined->line,
                        ADL_SLURM_CONF_DEPTH_MAX);
    char *name = put_cluster(reading->conf, joined->text + at, end - at);
    char *path = name ? adl_path_beside(reading->root, name) : NULL;
    free(name);
    if (!path)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", from);
    const int status = reading->source->read(reading->source->context, path, &text, &size, &why);
    if (status) {
        adl_fail(err, status, "%.150s:%u: %s", from, joined->line, why.text);
        free(path);
        return status;
    }
    return read_file(&inner, path, text, size, err);
}

/* Where the name after "Include" begins; 0 if the line is none of that kind. */
static size_t included_name(const struct joined *joined, size_t at)
{
    static const char word[] = "include";
    size_t i = 0;
    while (word[i] && at + i < joined->size && lower(joined->text[at + i]) == word[i])
        i++;
    if (word[i] || at + i >= joined->size || !is_blank(joined->text[at + i]))
        return 0;
    at += i;
    skip_blanks(joined, &at);
    return at < joined->size && joined->text[at] != '=' ? at : 0;
}

static int read_line(const struct reading *reading, uint32_t file, struct joined *joined, struct adl_error *err)
{
    struct adl_slurm_conf *conf = reading->conf;
    const size_t first = conf->setting_count;
    size_t at = 0;
    skip_blanks(joined, &at);
    const size_t name = included_name(joined, at);
    if (name)
        return include(reading, file, joined, name, err);
    while (at < joined->size) {
        const int status = read_pair(conf, file, joined, &at, err);
        if (status)
            return status;
        skip_blanks(joined, &at);
    }
    if (conf->setting_count == first)
        return 0;
    if (adl_grow((void **)&conf->lines, &conf->line_capacity, conf->line_count + 1, sizeof *conf->lines))
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", conf->files[file].path);
    conf->lines[conf->line_count++] =
        (struct adl_slurm_line){file, joined->line, (uint32_t)first, (uint32_t)(conf->setting_count - first)};
    return 0;
}

static int read_lines(const struct reading *reading, uint32_t file, struct adl_error *err)
{
    const size_t size = reading->conf->files[file].size;
    struct joined joined = {.text = malloc(size + 1), .at = malloc((size + 1) * sizeof *joined.at)};
    uint32_t line = 0;
    int status = joined.text && joined.at
                     ? 0
                     : adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", reading->conf->files[file].path);
    for (size_t at = 0; status == 0 && at < size;) {
        at = next_line(&reading->conf->files[file], at, &joined, &line);
        status = read_line(reading, file, &joined, err);
    }
    free(joined.text);
    free(joined.at);
    return status;
}

/* Takes ownership of path and text, even if it fails. */
static int read_file(const struct reading *reading, char *path, char *text, size_t size, struct adl_error *err)
{
    struct adl_slurm_conf *conf = reading->conf;
    struct adl_slurm_file file = {.path = path, .text = text, .size = size, .words = malloc(size + 2)};
    int status = 0;
    if (!file.words || adl_grow((void **)&conf->files, &conf->file_capacity, conf->file_count + 1, sizeof *conf->files))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    else if (conf->file_count == ADL_SLURM_CONF_FILES_MAX)
        status = adl_fail(err, ADL_EINVAL, "%.200s: more than %u files are included", path, ADL_SLURM_CONF_FILES_MAX);
    else if (size > ADL_SLURM_CONF_SIZE_MAX)
        status = adl_fail(err, ADL_EINVAL, "%.200s has more than %u bytes", path, ADL_SLURM_CONF_SIZE_MAX);
    else if (memchr(text, '\0', size))
        status = adl_fail(err, ADL_EINVAL, "%.200s is not a text: it has a zero byte", path);
    if (status) {
        free(file.words);
        free(path);
        free(text);
        return status;
    }
    assert(conf->files);
    conf->files[conf->file_count++] = file;
    return read_lines(reading, (uint32_t)conf->file_count - 1, err);
}

static int read_all(char *path, char *text, size_t size, const struct adl_slurm_source *source,
                    struct adl_slurm_conf *ret, struct adl_error *err)
{
    struct adl_slurm_conf conf = {0};
    char *root = strdup(path); /* the array of files may move as it grows */
    const struct reading reading = {.conf = &conf, .source = source, .root = root};
    if (!root) {
        free(path);
        free(text);
        return adl_fail(err, ADL_ENOMEM, "out of memory");
    }
    const int status = read_file(&reading, path, text, size, err);
    free(root);
    if (status)
        adl_slurm_conf_clear(&conf);
    else
        *ret = conf;
    return status;
}

int adl_slurm_conf_parse(const char *path, const char *text, size_t size, const struct adl_slurm_source *source,
                         struct adl_slurm_conf *ret, struct adl_error *err)
{
    char *name = strdup(path), *copy = malloc(size + 1);
    if (!name || !copy) {
        free(name);
        free(copy);
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    }
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return read_all(name, copy, size, source, ret, err);
}

static int read_from_disk(void *context, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    (void)context;
    return adl_text_file_read(path, ret_text, ret_size, err);
}

int adl_slurm_conf_load(const char *path, struct adl_slurm_conf *ret, struct adl_error *err)
{
    static const struct adl_slurm_source disk = {.read = read_from_disk};
    char *text = NULL;
    size_t size = 0;
    int status = adl_text_file_read(path, &text, &size, err);
    if (status == 0)
        status = adl_slurm_conf_parse(path, text, size, &disk, ret, err);
    free(text);
    return status;
}

void adl_slurm_conf_clear(struct adl_slurm_conf *conf)
{
    for (size_t i = 0; i < conf->file_count; i++) {
        free(conf->files[i].path);
        free(conf->files[i].text);
        free(conf->files[i].words);
    }
    free(conf->files);
    free(conf->lines);
    free(conf->settings);
    *conf = (struct adl_slurm_conf){0};
}

/* ---- queries ---- */

/* First keys of lines about something, whose other keys are not settings of the whole cluster. */
static bool begins_record(const char *key)
{
    static const char *const keys[] = {"NodeName", "PartitionName", "NodeSet", "DownNodes", "FrontendName", "Name"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (adl_slurm_same(key, keys[i]))
            return true;
    return false;
}

const struct adl_slurm_setting *adl_slurm_conf_find(const struct adl_slurm_conf *conf, const char *key)
{
    for (size_t line = conf->line_count; line-- > 0;) {
        const struct adl_slurm_line *at = &conf->lines[line];
        if (begins_record(conf->settings[at->first].key))
            continue;
        for (uint32_t i = at->count; i-- > 0;)
            if (adl_slurm_same(conf->settings[at->first + i].key, key))
                return &conf->settings[at->first + i];
    }
    return NULL;
}

bool adl_slurm_line_is(const struct adl_slurm_conf *conf, size_t line, const char *key)
{
    return adl_slurm_same(conf->settings[conf->lines[line].first].key, key);
}

const struct adl_slurm_setting *adl_slurm_line_find(const struct adl_slurm_conf *conf, size_t line, const char *key)
{
    const struct adl_slurm_line *at = &conf->lines[line];
    for (uint32_t i = at->count; i-- > 0;)
        if (adl_slurm_same(conf->settings[at->first + i].key, key))
            return &conf->settings[at->first + i];
    return NULL;
}

const struct adl_slurm_setting *adl_slurm_line_inherit(const struct adl_slurm_conf *conf, size_t line, const char *key)
{
    const struct adl_slurm_setting *found = adl_slurm_line_find(conf, line, key);
    const char *kind = conf->settings[conf->lines[line].first].key;
    for (size_t above = line; !found && above-- > 0;)
        if (adl_slurm_line_is(conf, above, kind) && /* names are case-sensitive, this word is not */
            adl_slurm_same(conf->settings[conf->lines[above].first].value, "DEFAULT"))
            found = adl_slurm_line_find(conf, above, key);
    return found;
}
