/* submission_words: texts of a submission: the GPU request, patterns of output files, the command line. */
#include "base/suggest.h"
#include "base/text.h"
#include "jobs/submission.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- GPU request ---- */

#define REQUEST_FORM "write a number of GPUs, or types with numbers as in v100:2|a100:1"

static uint32_t types_present(const struct adl_cluster *cluster)
{
    uint32_t mask = 0;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        mask |= cluster->type_gpus[t] > 0 ? 1u << t : 0;
    return mask;
}

static int fail_type(const char *name, const struct adl_cluster *cluster, struct adl_error *err)
{
    struct adl_suggest suggest = {.word = name};
    char list[160] = "", phrase[ADL_PHRASE_SIZE], quoted[ADL_QUOTE_SIZE];
    for (uint32_t t = 0; t < cluster->type_count; t++)
        if (cluster->type_gpus[t] > 0) {
            adl_list_append(list, sizeof list, cluster->types[t].name);
            adl_suggest_offer(&suggest, cluster->types[t].name);
        }
    return adl_fail(err, ADL_EINVAL, "gpus: there is no GPU of type %s here%s; there are %s", adl_quote(name, quoted),
                    adl_suggest_phrase(&suggest, phrase), list[0] ? list : "none at all");
}

/* Digits alone, 1..ADL_JOB_GPUS_MAX; 0 if it is anything else. */
static uint16_t count_read(const char *text, size_t size)
{
    uint32_t count = 0;
    if (size == 0 || size > 6)
        return 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        count = count * 10 + (uint32_t)(text[i] - '0');
    }
    return count <= ADL_JOB_GPUS_MAX ? (uint16_t)count : 0;
}

static bool is_digits(const char *text, size_t size)
{
    size_t digits = 0;
    while (digits < size && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    return size > 0 && digits == size;
}

/* One alternative, between two '|'. */
static int alternative_read(const char *text, size_t size, const struct adl_cluster *cluster,
                            struct adl_alternative *ret, struct adl_error *err)
{
    const char *colon = memchr(text, ':', size);
    char type[ADL_NAME_SIZE] = "", shown[ADL_NAME_SIZE], quoted[ADL_QUOTE_SIZE];
    struct adl_alternative found = {.gpus = 1, .types = cluster ? types_present(cluster) : 0, .slot = ADL_NONE};
    const bool alone = !colon && is_digits(text, size);
    const size_t type_size = alone ? 0 : colon ? (size_t)(colon - text) : size;
    snprintf(shown, sizeof shown, "%.*s", (int)(size < sizeof shown ? size : sizeof shown - 1), text);
    if (size == 0)
        return adl_fail(err, ADL_EINVAL, "gpus: empty between or beside '|'; " REQUEST_FORM);
    if (alone || colon) {
        const size_t start = alone ? 0 : type_size + 1;
        found.gpus = count_read(text + start, size - start);
    }
    if (found.gpus == 0)
        return adl_fail(err, ADL_EINVAL, "gpus: the number in %s must be between 1 and %d; " REQUEST_FORM,
                        adl_quote(shown, quoted), ADL_JOB_GPUS_MAX);
    if (type_size >= sizeof type)
        return adl_fail(err, ADL_EINVAL, "gpus: %s... is too long for a type of GPU; " REQUEST_FORM,
                        adl_quote(shown, quoted));
    memcpy(type, text, type_size);
    if (type_size > 0 && cluster && strcmp(type, "*") != 0) {
        const uint32_t index = adl_cluster_find_type(cluster, type);
        if (index == ADL_NONE || cluster->type_gpus[index] == 0)
            return fail_type(type, cluster, err);
        found.types = 1u << index;
    }
    *ret = found;
    return ADL_OK;
}

int adl_gpu_request_read(const char *text, const struct adl_cluster *cluster, struct adl_alternative *ret,
                         uint32_t *ret_count, struct adl_error *err)
{
    struct adl_alternative read[ADL_ALTERNATIVES_MAX] = {{0}}, one = {0};
    uint32_t count = 0;
    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, "|");
        const int status = alternative_read(at, size, cluster, &one, err);
        if (status < 0)
            return status;
        uint32_t same = 0;
        while (same < count && read[same].gpus != one.gpus)
            same++;
        if (same == ADL_ALTERNATIVES_MAX)
            return adl_fail(err, ADL_EINVAL, "gpus: at most %d different numbers of GPUs may be named",
                            ADL_ALTERNATIVES_MAX);
        if (same < count)
            read[same].types |= one.types;
        else
            read[count++] = one;
        at += size;
        if (*at == '\0')
            break;
    }
    memcpy(ret, read, count * sizeof *read);
    *ret_count = count;
    return ADL_OK;
}

/* ---- output files ---- */

static void put_word(struct adl_text *text, const char *word)
{
    for (const char *c = word; *c; c++)
        adl_text_char(text, *c == '/' || (*c == '.' && c == word) ? '_' : *c);
}

static void put_field(struct adl_text *text, char field, const struct adl_store_job *job, uint64_t id, const char *node)
{
    const bool in_array = job->array_index >= 0;
    if (field == 'j')
        adl_text_printf(text, "%" PRIu64, id);
    else if (field == 'A')
        adl_text_printf(text, "%" PRIu64, in_array && job->array_id ? job->array_id : id);
    else if (field == 'a')
        adl_text_printf(text, "%" PRId32, in_array ? job->array_index : 0);
    else if (field == 'x')
        put_word(text, job->name ? job->name : "");
    else if (field == 'u')
        put_word(text, job->user ? job->user : "");
    else if (field == 'N' && node)
        put_word(text, node);
    else if (field == '%')
        adl_text_char(text, '%');
    else
        adl_text_bytes(text, (const char[]){'%', field}, 2);
}

char *adl_path_expand(const char *pattern, const struct adl_store_job *job, uint64_t id, const char *node)
{
    struct adl_text text = {0};
    if (pattern[0] != '\0' && pattern[0] != '/' && job->directory && job->directory[0]) {
        adl_text_put(&text, job->directory);
        if (text.data && text.data[text.size - 1] != '/')
            adl_text_char(&text, '/');
    }
    for (const char *c = pattern; *c && text.size <= ADL_STORE_PATH_MAX && !text.failed; c++)
        if (*c == '%' && c[1])
            put_field(&text, *++c, job, id, node);
        else
            adl_text_char(&text, *c);
    adl_text_put(&text, ""); /* so that there is a text even if it is empty */
    if (adl_text_status(&text) < 0) {
        adl_text_clear(&text);
        return NULL;
    }
    if (text.size > ADL_STORE_PATH_MAX)
        adl_text_truncate(&text, ADL_STORE_PATH_MAX);
    return text.data;
}

/* ---- command line ---- */

/* The text so far; what does not fit is only counted. */
struct line {
    char *data;
    size_t size, length;
};

static void line_put(struct line *line, char c)
{
    const unsigned char byte = (unsigned char)c;
    /* C1 controls arrive as the two bytes C2 80 .. C2 9F. */
    if (byte >= 0x80 && byte < 0xa0 && line->length > 0 && line->length < line->size &&
        (unsigned char)line->data[line->length - 1] == 0xc2) {
        line->data[line->length - 1] = '?';
        return;
    }
    if (line->length + 1 < line->size)
        line->data[line->length] = byte < 0x20 || byte == 0x7f ? '?' : c;
    line->length++;
}

static void line_word(struct line *line, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
    const bool quote = word[0] == '\0' || word[strspn(word, plain)] != '\0';
    if (quote)
        line_put(line, '\'');
    for (; *word && line->length < line->size; word++) {
        if (*word == '\'') {
            line_put(line, '\'');
            line_put(line, '\\');
            line_put(line, '\'');
        }
        line_put(line, *word);
    }
    if (quote)
        line_put(line, '\'');
}

/* Ends the line; if it was cut, with "..." and not within a UTF-8 character. */
static void line_end(struct line *line)
{
    size_t length = line->length;
    if (length >= line->size) {
        length = line->size - 1;
        if (line->size > 4) {
            length = line->size - 4;
            while (length > 0 && ((unsigned char)line->data[length] & 0xc0) == 0x80)
                length--;
            memcpy(line->data + length, "...", 3);
            length += 3;
        }
    }
    line->data[length] = '\0';
}

static void line_script(struct line *line, const char *script)
{
    const char *at = script;
    while (*at) {
        at += strspn(at, " \t\r\n");
        if (*at != '#')
            break;
        at += strcspn(at, "\n");
    }
    size_t size = strcspn(at, "\n");
    while (size > 0 && strchr(" \t\r", at[size - 1]))
        size--;
    if (size == 0)
        for (const char *c = "(empty script)"; *c; c++)
            line_put(line, *c);
    for (size_t i = 0; i < size && line->length < line->size; i++)
        line_put(line, at[i]);
}

void adl_command_text(const struct adl_store_job *job, char *ret, size_t size)
{
    struct line line = {.data = ret, .size = size};
    if (size == 0)
        return;
    if (job->script && job->script[0]) {
        line_script(&line, job->script);
    } else {
        for (const char *const *word = job->argv; word && *word; word++) {
            if (word != job->argv)
                line_put(&line, ' ');
            line_word(&line, *word);
        }
    }
    line_end(&line);
}
