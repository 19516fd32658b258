/* yaml_table: reads the nodes of a document into structs by typed tables, and refuses everything else. */
#include "base/range.h"
#include "base/suggest.h"
#include "scenario/yaml.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define PATH_SIZE  160
#define FIELDS_MAX 64

/* Where in the document the reader is, from the inside out: for messages. */
struct path {
    const struct path *up;
    const char *key; /* NULL = an element of a list */
    uint32_t index;
};

struct reader {
    struct adl_yaml *yaml;
    struct adl_error *err;
};

/* "workload.mix[2].weight"; empty for the document itself. */
static void print_path(const struct path *path, char buffer[PATH_SIZE])
{
    if (!path) {
        buffer[0] = '\0';
        return;
    }
    print_path(path->up, buffer);
    const size_t length = strlen(buffer);
    if (path->key)
        snprintf(buffer + length, PATH_SIZE - length, "%s%.60s", length ? "." : "", path->key);
    else
        snprintf(buffer + length, PATH_SIZE - length, "[%u]", (unsigned)path->index);
}

/* "name:line: path reason" */
static int refuse(const struct reader *reader, const struct adl_yaml_node *node, const struct path *path,
                  const char *reason)
{
    char where[PATH_SIZE];
    print_path(path, where);
    return adl_yaml_fail(reader->yaml, node->line, reader->err, "%s %s", where[0] ? where : "the file", reason);
}

static bool is_nothing(const struct adl_yaml_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    if (node->shape != ADL_YAML_SCALAR || !node->plain)
        return false;
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++)
        if (strcmp(node->text, nulls[i]) == 0)
            return true;
    return false;
}

static int expect_shape(const struct reader *reader, const struct adl_yaml_node *node, const struct path *path,
                        uint8_t shape, const char *wanted)
{
    if (node->shape == shape && !is_nothing(node))
        return 0;
    char reason[ADL_REFUSAL_SIZE], quoted[ADL_QUOTE_SIZE];
    const char *got = is_nothing(node)                   ? "nothing"
                      : node->shape == ADL_YAML_SEQUENCE ? "a list"
                      : node->shape == ADL_YAML_MAPPING  ? "a mapping"
                                                         : adl_quote(node->text, quoted);
    snprintf(reason, sizeof reason, "must be %s, got %s", wanted, got);
    return refuse(reader, node, path, reason);
}

static int read_int(const struct reader *reader, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                    const struct path *path, char *place)
{
    const struct adl_range range = {.min = field->min, .max = field->max};
    char reason[ADL_REFUSAL_SIZE];
    int64_t value = 0;
    if (!adl_range_read_int(node->text, &range, &value, reason))
        return refuse(reader, node, path, reason);
    if (field->size == sizeof value) {
        memcpy(place, &value, sizeof value);
    } else {
        assert(field->size == sizeof(int32_t) && field->max <= INT32_MAX && field->min >= INT32_MIN);
        memcpy(place, &(int32_t){(int32_t)value}, sizeof(int32_t));
    }
    return 0;
}

static int read_real(const struct reader *reader, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                     const struct path *path, char *place)
{
    const struct adl_range range = {
        .min = field->min, .max = field->max, .open = field->open, .or_zero = field->or_zero};
    char reason[ADL_REFUSAL_SIZE];
    double value = 0;
    if (!adl_range_read_real(node->text, &range, &value, reason))
        return refuse(reader, node, path, reason);
    memcpy(place, &value, sizeof value);
    return 0;
}

static int read_bool(const struct reader *reader, const struct adl_yaml_node *node, const struct path *path,
                     char *place)
{
    const bool yes = node->plain && strcmp(node->text, "true") == 0;
    char reason[ADL_REFUSAL_SIZE], quoted[ADL_QUOTE_SIZE];
    if (!yes && !(node->plain && strcmp(node->text, "false") == 0)) {
        snprintf(reason, sizeof reason, "must be true or false, got %s", adl_quote(node->text, quoted));
        return refuse(reader, node, path, reason);
    }
    memcpy(place, &yes, sizeof yes);
    return 0;
}

static int read_name(const struct reader *reader, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                     const struct path *path, char *place)
{
    char known[160] = "", reason[360], quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = node->text};
    for (int i = 0; field->names[i]; i++) {
        if (strcmp(field->names[i], node->text) == 0) {
            memcpy(place, &i, sizeof i);
            return 0;
        }
        adl_suggest_offer(&suggest, field->names[i]);
        adl_list_append(known, sizeof known, field->names[i]);
    }
    snprintf(reason, sizeof reason, "must be one of %s, got %s%s", known, adl_quote(node->text, quoted),
             adl_suggest_phrase(&suggest, phrase));
    return refuse(reader, node, path, reason);
}

/* Line breaks and tabs become spaces, and trailing ones are removed, so that folded and literal blocks can be used. */
static int read_text(const struct reader *reader, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                     const struct path *path, char *place)
{
    char reason[ADL_REFUSAL_SIZE];
    size_t length = strlen(node->text);
    while (length > 0 && strchr(" \t\r\n", node->text[length - 1]))
        length--;
    if (length == 0)
        return refuse(reader, node, path, "must not be empty");
    if (length >= field->size) {
        snprintf(reason, sizeof reason, "must have at most %zu bytes, got %zu", field->size - 1, length);
        return refuse(reader, node, path, reason);
    }
    memset(place, 0, field->size);
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)node->text[i];
        const bool space = byte == '\t' || byte == '\r' || byte == '\n';
        if ((byte < 0x20 && !space) || byte == 0x7f)
            return refuse(reader, node, path, "must not hold control characters");
        place[i] = space ? ' ' : node->text[i];
    }
    return 0;
}

static bool is_word(const char *text)
{
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    return strspn(text, LETTERS) > 0 && text[strspn(text, LETTERS "._+-")] == '\0';
#undef LETTERS
}

static int read_word(const struct reader *reader, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                     const struct path *path, char *place)
{
    char reason[ADL_REFUSAL_SIZE], quoted[ADL_QUOTE_SIZE];
    if (is_word(node->text))
        return read_text(reader, field, node, path, place);
    snprintf(reason, sizeof reason, "must be a letter or digit followed by letters, digits and . _ + -, got %s",
             adl_quote(node->text, quoted));
    return refuse(reader, node, path, reason);
}

static int read_link(const struct reader *reader, const struct adl_yaml_node *node, const struct path *path,
                     char *place)
{
    for (const char *at = node->text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return refuse(reader, node, path, "must not hold control characters");
    if (!node->text[0])
        return refuse(reader, node, path, "must not be empty");
    const struct adl_yaml_link link = {.text = node->text, .line = node->line};
    memcpy(place, &link, sizeof link);
    return 0;
}

static int read_element(const struct reader *reader, const struct adl_yaml_node *node, const struct path *path,
                        char *place)
{
    const struct adl_range range = {.max = ADL_YAML_REAL_MAX, .open = true};
    struct adl_yaml_real real = {.line = node->line};
    char reason[ADL_REFUSAL_SIZE];
    if (!adl_range_read_real(node->text, &range, &real.value, reason))
        return refuse(reader, node, path, reason);
    memcpy(place, &real, sizeof real);
    return 0;
}

static int read_group(struct reader *reader, const struct adl_yaml_table *table, const struct adl_yaml_node *node,
                      const struct path *path, char *target);

static int read_list(struct reader *reader, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                     const struct path *path, char *place)
{
    char reason[ADL_REFUSAL_SIZE];
    if (node->count < field->min || node->count > field->max) {
        snprintf(reason, sizeof reason, "must have %.0f to %.0f elements, got %u", field->min, field->max,
                 (unsigned)node->count);
        return refuse(reader, node, path, reason);
    }
    const size_t size = field->kind == ADL_YAML_LIST    ? field->table->size
                        : field->kind == ADL_YAML_REALS ? sizeof(struct adl_yaml_real)
                                                        : sizeof(struct adl_yaml_link);
    char *items = adl_yaml_alloc(reader->yaml, size * node->count);
    if (!items)
        return adl_fail(reader->err, ADL_ENOMEM, "%.120s: out of memory", adl_yaml_name(reader->yaml));
    uint32_t index = 0;
    for (const struct adl_yaml_node *element = node->first; element; element = element->next, index++) {
        const struct path here = {.up = path, .index = index};
        char *item = items + size * index;
        int status = 0;
        if (field->kind == ADL_YAML_LIST) {
            if (field->table->defaults)
                memcpy(item, field->table->defaults, size);
            status = read_group(reader, field->table, element, &here, item);
        } else if (field->kind == ADL_YAML_REALS) {
            status = expect_shape(reader, element, &here, ADL_YAML_SCALAR, "a number");
            status = status ? status : read_element(reader, element, &here, item);
        } else {
            status = expect_shape(reader, element, &here, ADL_YAML_SCALAR, "a name");
            status = status ? status : read_link(reader, element, &here, item);
        }
        if (status)
            return status;
    }
    const struct adl_yaml_list list = {.items = items, .count = node->count};
    memcpy(place, &list, sizeof list);
    return 0;
}

static int read_value(struct reader *reader, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                      const struct path *path, char *place)
{
    static const struct {
        const char *wanted;
        uint8_t shape;
    } expected[] = {
        [ADL_YAML_INT] = {"a whole number", ADL_YAML_SCALAR}, [ADL_YAML_REAL] = {"a number", ADL_YAML_SCALAR},
        [ADL_YAML_BOOL] = {"true or false", ADL_YAML_SCALAR}, [ADL_YAML_TEXT] = {"a text", ADL_YAML_SCALAR},
        [ADL_YAML_WORD] = {"a name", ADL_YAML_SCALAR},        [ADL_YAML_LINK] = {"a name", ADL_YAML_SCALAR},
        [ADL_YAML_NAME] = {"a name", ADL_YAML_SCALAR},        [ADL_YAML_GROUP] = {"a mapping", ADL_YAML_MAPPING},
        [ADL_YAML_LIST] = {"a list", ADL_YAML_SEQUENCE},      [ADL_YAML_LINKS] = {"a list", ADL_YAML_SEQUENCE},
        [ADL_YAML_REALS] = {"a list", ADL_YAML_SEQUENCE},     [ADL_YAML_NODE] = {"a mapping", ADL_YAML_MAPPING},
    };
    const int status = expect_shape(reader, node, path, expected[field->kind].shape, expected[field->kind].wanted);
    if (status)
        return status;
    switch (field->kind) {
    case ADL_YAML_INT:
        return read_int(reader, field, node, path, place);
    case ADL_YAML_REAL:
        return read_real(reader, field, node, path, place);
    case ADL_YAML_BOOL:
        return read_bool(reader, node, path, place);
    case ADL_YAML_TEXT:
        return read_text(reader, field, node, path, place);
    case ADL_YAML_WORD:
        return read_word(reader, field, node, path, place);
    case ADL_YAML_LINK:
        return read_link(reader, node, path, place);
    case ADL_YAML_NAME:
        return read_name(reader, field, node, path, place);
    case ADL_YAML_NODE:
        memcpy(place, &node, sizeof node);
        return 0;
    case ADL_YAML_GROUP:
        return read_group(reader, field->table, node, path, place);
    default:
        return read_list(reader, field, node, path, place);
    }
}

static int refuse_key(const struct reader *reader, const struct adl_yaml_table *table, const struct adl_yaml_node *key,
                      const struct path *path)
{
    char where[PATH_SIZE], known[200] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = key->text};
    for (uint32_t i = 0; i < table->field_count; i++) {
        adl_suggest_offer(&suggest, table->fields[i].name);
        adl_list_append(known, sizeof known, table->fields[i].name);
    }
    print_path(path, where);
    return adl_yaml_fail(reader->yaml, key->line, reader->err, "unknown key %s%s%s%s (keys: %s)",
                         adl_quote(key->text, quoted), where[0] ? " in " : "", where,
                         adl_suggest_phrase(&suggest, phrase), known);
}

static int refuse_missing(const struct reader *reader, const struct adl_yaml_field *field,
                          const struct adl_yaml_node *node, const struct path *path)
{
    char where[PATH_SIZE];
    print_path(path, where);
    return adl_yaml_fail(reader->yaml, node->line, reader->err, "missing key '%s'%s%s (%s)", field->name,
                         where[0] ? " in " : "", where, field->help);
}

static int read_group(struct reader *reader, const struct adl_yaml_table *table, const struct adl_yaml_node *node,
                      const struct path *path, char *target)
{
    assert(table->field_count <= FIELDS_MAX);
    int status = expect_shape(reader, node, path, ADL_YAML_MAPPING, "a mapping (key: value)");
    if (status)
        return status;
    if (table->located)
        memcpy(target, &node, sizeof node);
    uint32_t lines[FIELDS_MAX] = {0}; /* of each key seen */
    for (const struct adl_yaml_node *key = node->first; key; key = key->next->next) {
        uint32_t i = 0;
        while (i < table->field_count && strcmp(table->fields[i].name, key->text) != 0)
            i++;
        if (i == table->field_count)
            return refuse_key(reader, table, key, path);
        const struct path here = {.up = path, .key = table->fields[i].name};
        if (lines[i]) {
            char reason[ADL_REFUSAL_SIZE];
            snprintf(reason, sizeof reason, "is given twice; the first is on line %u", (unsigned)lines[i]);
            return refuse(reader, key, &here, reason);
        }
        lines[i] = key->line;
        status = read_value(reader, &table->fields[i], key->next, &here, target + table->fields[i].offset);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < table->field_count; i++)
        if (table->fields[i].required && !lines[i])
            return refuse_missing(reader, &table->fields[i], node, path);
    return 0;
}

int adl_yaml_read_value(struct adl_yaml *yaml, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                        const char *group, void *place, struct adl_error *err)
{
    struct reader reader = {.yaml = yaml, .err = err};
    const struct path up = {.key = group}, here = {.up = &up, .key = field->name};
    return read_value(&reader, field, node, &here, place);
}

int adl_yaml_expect(struct adl_yaml *yaml, const struct adl_yaml_node *node, enum adl_yaml_shape shape,
                    const char *where, const char *wanted, struct adl_error *err)
{
    const struct reader reader = {.yaml = yaml, .err = err};
    return expect_shape(&reader, node, &(const struct path){.key = where}, (uint8_t)shape, wanted);
}

int adl_yaml_read(struct adl_yaml *yaml, const struct adl_yaml_table *table, void *target, struct adl_error *err)
{
    struct reader reader = {.yaml = yaml, .err = err};
    if (table->defaults)
        memcpy(target, table->defaults, table->size);
    else
        memset(target, 0, table->size);
    return read_group(&reader, table, adl_yaml_root(yaml), NULL, target);
}
