#include "scenario/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define BLOCK_SIZE (32u << 10)

struct block {
    struct block *next;
    size_t used, size;
    max_align_t data[];
};

struct adl_yaml {
    char *name;
    struct adl_yaml_node *root;
    struct block *blocks;
};

void *adl_yaml_alloc(struct adl_yaml *yaml, size_t size)
{
    const size_t grain = sizeof(max_align_t);
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + grain - 1) / grain * grain;
    struct block *block = yaml->blocks;
    if (!block || block->size - block->used < size) {
        const size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = calloc(1, sizeof *block + room);
        if (!block)
            return NULL;
        block->size = room;
        block->next = yaml->blocks;
        yaml->blocks = block;
    }
    void *place = (char *)block->data + block->used;
    block->used += size;
    return place;
}

void adl_yaml_destroy(struct adl_yaml *yaml)
{
    if (!yaml)
        return;
    while (yaml->blocks) {
        struct block *next = yaml->blocks->next;
        free(yaml->blocks);
        yaml->blocks = next;
    }
    free(yaml->name);
    free(yaml);
}

const char *adl_yaml_name(const struct adl_yaml *yaml)
{
    return yaml->name;
}

const struct adl_yaml_node *adl_yaml_root(const struct adl_yaml *yaml)
{
    return yaml->root;
}

int adl_yaml_fail(const struct adl_yaml *yaml, uint32_t line, struct adl_error *err, const char *fmt, ...)
{
    if (err) {
        va_list args;
        va_start(args, fmt);
        const int length = snprintf(err->text, sizeof err->text, "%.120s:%u: ", yaml->name, (unsigned)line);
        vsnprintf(err->text + length, sizeof err->text - (size_t)length, fmt, args);
        va_end(args);
    }
    return ADL_EINVAL;
}

const struct adl_yaml_node *adl_yaml_value(const struct adl_yaml_node *mapping, const char *key)
{
    if (!mapping || mapping->shape != ADL_YAML_MAPPING)
        return NULL;
    for (const struct adl_yaml_node *at = mapping->first; at && at->next; at = at->next->next)
        if (strcmp(at->text, key) == 0)
            return at->next;
    return NULL;
}

uint32_t adl_yaml_line(const struct adl_yaml_node *mapping, const char *key)
{
    for (const struct adl_yaml_node *node = mapping->first; node; node = node->next->next)
        if (strcmp(node->text, key) == 0)
            return node->next->line;
    return mapping->line;
}

/* Builds the tree from libyaml's events. */
struct builder {
    struct adl_yaml *yaml;
    const char *text;
    size_t size;
    struct adl_error *err;
    yaml_parser_t parser;
    struct adl_yaml_node *open[ADL_YAML_DEPTH_MAX];  /* containers that have not ended */
    struct adl_yaml_node **tail[ADL_YAML_DEPTH_MAX]; /* where to attach the next child of each */
    uint32_t depth;
    uint32_t node_count;
    uint32_t documents;
};

static int out_of_memory(const struct builder *builder)
{
    return adl_fail(builder->err, ADL_ENOMEM, "%.120s: out of memory", builder->yaml->name);
}

static uint32_t line_of_offset(const struct builder *builder, size_t offset)
{
    uint32_t line = 1;
    for (size_t i = 0; i < offset && i < builder->size; i++)
        line += builder->text[i] == '\n';
    return line;
}

static bool line_is_indented_by_tab(const struct builder *builder, uint32_t line)
{
    size_t at = 0;
    for (uint32_t l = 1; l < line && at < builder->size; at++)
        l += builder->text[at] == '\n';
    while (at < builder->size && builder->text[at] == ' ')
        at++;
    return at < builder->size && builder->text[at] == '\t';
}

static int refuse_syntax(const struct builder *builder)
{
    const yaml_parser_t *parser = &builder->parser;
    const char *problem = parser->problem ? parser->problem : "unknown fault";
    if (parser->error == YAML_MEMORY_ERROR)
        return out_of_memory(builder);
    if (parser->error == YAML_READER_ERROR)
        return adl_yaml_fail(builder->yaml, line_of_offset(builder, parser->problem_offset), builder->err,
                             "not plain UTF-8 text: %s", problem);
    const uint32_t line = (uint32_t)parser->problem_mark.line + 1;
    if (line_is_indented_by_tab(builder, line))
        return adl_yaml_fail(builder->yaml, line, builder->err,
                             "not valid YAML: %s; indent with spaces, the line begins with a tab", problem);
    if (parser->context)
        return adl_yaml_fail(builder->yaml, line, builder->err, "not valid YAML: %s %s that began on line %u", problem,
                             parser->context, (unsigned)parser->context_mark.line + 1);
    return adl_yaml_fail(builder->yaml, line, builder->err, "not valid YAML: %s", problem);
}

static int copy_scalar(struct builder *builder, const yaml_event_t *event, struct adl_yaml_node *node)
{
    const size_t length = event->data.scalar.length;
    const char *value = (const char *)event->data.scalar.value;
    if (memchr(value, '\0', length))
        return adl_yaml_fail(builder->yaml, node->line, builder->err, "text may not hold a zero byte (\\0)");
    char *copy = adl_yaml_alloc(builder->yaml, length + 1);
    if (!copy)
        return out_of_memory(builder);
    memcpy(copy, value, length);
    node->text = copy;
    node->plain = event->data.scalar.plain_implicit && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return 0;
}

/* Attaches the node to the innermost open container. */
static void attach(struct builder *builder, struct adl_yaml_node *node)
{
    if (builder->depth == 0) {
        builder->yaml->root = node;
        return;
    }
    struct adl_yaml_node *parent = builder->open[builder->depth - 1];
    *builder->tail[builder->depth - 1] = node;
    builder->tail[builder->depth - 1] = &node->next;
    parent->count++;
}

static int add_node(struct builder *builder, const yaml_event_t *event, uint8_t shape, const yaml_char_t *anchor,
                    const yaml_char_t *tag)
{
    const uint32_t line = (uint32_t)event->start_mark.line + 1;
    if (anchor)
        return adl_yaml_fail(builder->yaml, line, builder->err, "anchors (&name) are not read; write the value out");
    if (tag)
        return adl_yaml_fail(builder->yaml, line, builder->err, "tags (!name) are not read; the key decides the kind");
    if (builder->node_count == ADL_YAML_NODES_MAX)
        return adl_yaml_fail(builder->yaml, line, builder->err, "more than %u values in one file", ADL_YAML_NODES_MAX);
    if (shape != ADL_YAML_SCALAR && builder->depth == ADL_YAML_DEPTH_MAX)
        return adl_yaml_fail(builder->yaml, line, builder->err, "nested more than %d levels deep", ADL_YAML_DEPTH_MAX);
    struct adl_yaml_node *node = adl_yaml_alloc(builder->yaml, sizeof *node);
    if (!node)
        return out_of_memory(builder);
    builder->node_count++;
    node->shape = shape;
    node->line = line;
    const int status = shape == ADL_YAML_SCALAR ? copy_scalar(builder, event, node) : 0;
    if (status)
        return status;
    attach(builder, node);
    if (shape != ADL_YAML_SCALAR) {
        builder->open[builder->depth] = node;
        builder->tail[builder->depth++] = &node->first;
    }
    return 0;
}

/* Checks that all keys are scalars, before any lookup. */
static int close_mapping(struct builder *builder)
{
    struct adl_yaml_node *mapping = builder->open[--builder->depth];
    mapping->count /= 2;
    for (const struct adl_yaml_node *key = mapping->first; key; key = key->next->next)
        if (key->shape != ADL_YAML_SCALAR)
            return adl_yaml_fail(builder->yaml, key->line, builder->err, "a key must be a word, got a %s",
                                 key->shape == ADL_YAML_MAPPING ? "mapping" : "list");
    return 0;
}

static int handle_event(struct builder *builder, const yaml_event_t *event)
{
    const uint32_t line = (uint32_t)event->start_mark.line + 1;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (builder->documents++ > 0)
            return adl_yaml_fail(builder->yaml, line, builder->err,
                                 "a second document begins here (---); a file holds one");
        return 0;
    case YAML_ALIAS_EVENT:
        return adl_yaml_fail(builder->yaml, line, builder->err, "aliases (*name) are not read; write the value out");
    case YAML_SCALAR_EVENT:
        return add_node(builder, event, ADL_YAML_SCALAR, event->data.scalar.anchor, event->data.scalar.tag);
    case YAML_SEQUENCE_START_EVENT:
        return add_node(builder, event, ADL_YAML_SEQUENCE, event->data.sequence_start.anchor,
                        event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return add_node(builder, event, ADL_YAML_MAPPING, event->data.mapping_start.anchor,
                        event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
        builder->depth--;
        return 0;
    case YAML_MAPPING_END_EVENT:
        return close_mapping(builder);
    default:
        return 0; /* stream start and end, document end */
    }
}

static int build(struct builder *builder)
{
    if (!yaml_parser_initialize(&builder->parser))
        return out_of_memory(builder);
    yaml_parser_set_encoding(&builder->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder->parser, (const unsigned char *)builder->text, builder->size);
    int status = 0;
    bool ended = false;
    while (!status && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&builder->parser, &event)) {
            status = refuse_syntax(builder);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        status = handle_event(builder, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&builder->parser);
    if (!status && !builder->yaml->root)
        status = adl_yaml_fail(builder->yaml, 1, builder->err, "the file is empty");
    return status;
}

static struct adl_yaml *create(const char *name)
{
    struct adl_yaml *yaml = calloc(1, sizeof *yaml);
    const size_t size = strlen(name) + 1;
    if (yaml)
        yaml->name = malloc(size);
    if (!yaml || !yaml->name) {
        free(yaml);
        return NULL;
    }
    memcpy(yaml->name, name, size);
    return yaml;
}

int adl_yaml_parse(const char *name, const char *text, size_t size, struct adl_yaml **ret, struct adl_error *err)
{
    struct adl_yaml *yaml = create(name);
    if (!yaml)
        return adl_fail(err, ADL_ENOMEM, "%.120s: out of memory", name);
    int status = 0;
    if (size > ADL_YAML_SIZE_MAX) {
        status = adl_yaml_fail(yaml, 1, err, "the file has %zu bytes; at most %u are read", size, ADL_YAML_SIZE_MAX);
    } else {
        /* The byte order mark is skipped here, because libyaml counts it as a column. */
        const size_t mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        struct builder builder = {.yaml = yaml, .text = text + mark, .size = size - mark, .err = err};
        status = build(&builder);
    }
    if (status) {
        adl_yaml_destroy(yaml);
        return status;
    }
    *ret = yaml;
    return 0;
}
