/* yaml: YAML text read into C structs by typed tables. Every value keeps its line, so that an error found after parsing
 * still has its place.
 *
 * A subset is read: block and flow mappings, lists and scalars in one UTF-8 document. Anchors, aliases and tags are
 * refused. Limits: 16 MiB of text, 32 levels, a million nodes. */
#ifndef ADLRO_SCENARIO_YAML_H
#define ADLRO_SCENARIO_YAML_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADL_YAML_SIZE_MAX  (16u << 20)
#define ADL_YAML_DEPTH_MAX 32
#define ADL_YAML_NODES_MAX 1000000u

enum adl_yaml_shape { ADL_YAML_SCALAR, ADL_YAML_SEQUENCE, ADL_YAML_MAPPING };

struct adl_yaml_node {
    struct adl_yaml_node *first; /* children: the elements, or key, value, key, value, ... */
    struct adl_yaml_node *next;
    const char *text; /* SCALAR: zero-terminated, holds no other zero byte */
    uint32_t count;   /* elements of a sequence, pairs of a mapping */
    uint32_t line;    /* from 1 */
    uint8_t shape;    /* enum adl_yaml_shape */
    bool plain;       /* SCALAR: written without quotes */
};

struct adl_yaml; /* a document: its nodes and everything read from it */

/* name is the file's name in messages. */
int adl_yaml_parse(const char *name, const char *text, size_t size, struct adl_yaml **ret, struct adl_error *err);
void adl_yaml_destroy(struct adl_yaml *yaml); /* accepts NULL */
const char *adl_yaml_name(const struct adl_yaml *yaml);
const struct adl_yaml_node *adl_yaml_root(const struct adl_yaml *yaml);

/* Zeroed memory that lives as long as the document; NULL if out of memory. */
void *adl_yaml_alloc(struct adl_yaml *yaml, size_t size);

/* "name:line: text"; returns ADL_EINVAL. */
int adl_yaml_fail(const struct adl_yaml *yaml, uint32_t line, struct adl_error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The value of a key of a mapping; NULL if it is not there, or if it is no mapping. */
const struct adl_yaml_node *adl_yaml_value(const struct adl_yaml_node *mapping, const char *key);

/* The line of the key's value in a mapping; of the mapping itself if the key is not there. */
uint32_t adl_yaml_line(const struct adl_yaml_node *mapping, const char *key);

enum adl_yaml_kind {
    ADL_YAML_INT,   /* int32_t or int64_t, signed or not, by size */
    ADL_YAML_REAL,  /* double, finite */
    ADL_YAML_BOOL,  /* bool: true or false, nothing else */
    ADL_YAML_TEXT,  /* char[size]: one line of free text; line breaks become spaces */
    ADL_YAML_WORD,  /* char[size]: letters, digits and . _ + - */
    ADL_YAML_LINK,  /* struct adl_yaml_link: text that names something elsewhere */
    ADL_YAML_NAME,  /* int: an index into names */
    ADL_YAML_GROUP, /* a nested struct, by table */
    ADL_YAML_LIST,  /* struct adl_yaml_list of structs, by table */
    ADL_YAML_LINKS, /* struct adl_yaml_list of struct adl_yaml_link */
    ADL_YAML_NODE,  /* const struct adl_yaml_node *: a mapping that its owner reads; NULL = not given */
    ADL_YAML_REALS, /* struct adl_yaml_list of struct adl_yaml_real, each above 0 and below ADL_YAML_REAL_MAX */
};

struct adl_yaml_link {
    const char *text; /* NULL = not given */
    uint32_t line;
};

#define ADL_YAML_REAL_MAX 1e15

struct adl_yaml_real {
    double value;
    uint32_t line;
};

struct adl_yaml_list {
    void *items; /* owned by the document */
    uint32_t count;
};

struct adl_yaml_field {
    const char *name;
    uint8_t kind; /* enum adl_yaml_kind */
    bool required;
    bool open;                          /* REAL: min and max themselves are excluded */
    bool or_zero;                       /* REAL: 0 is allowed besides min to max */
    size_t offset, size;                /* of the member: ADL_YAML_AT */
    double min, max;                    /* INT, REAL: the value; LIST, LINKS, REALS: how many elements */
    const char *const *names;           /* NAME: ends with NULL */
    const struct adl_yaml_table *table; /* GROUP, LIST */
    const char *otherwise;              /* what an absent key means, if the default value does not show it */
    const char *help;
};

#define ADL_YAML_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

struct adl_yaml_table {
    const struct adl_yaml_field *fields;
    uint32_t field_count;
    bool located;         /* the struct begins with a const struct adl_yaml_node *: its mapping, NULL if absent */
    size_t size;          /* of the struct */
    const void *defaults; /* such a struct; NULL = all zero. Elements of lists start as copies of it */
};

/* Reads the document into target, initialized with the table's defaults. On failure the content of target is undefined
 * and owns nothing. */
int adl_yaml_read(struct adl_yaml *yaml, const struct adl_yaml_table *table, void *target, struct adl_error *err);

/* For mappings that no table describes (ADL_YAML_NODE): reads one value as a field of a table would be read; group is
 * the mapping's path in messages. */
int adl_yaml_read_value(struct adl_yaml *yaml, const struct adl_yaml_field *field, const struct adl_yaml_node *node,
                        const char *group, void *place, struct adl_error *err);

/* Refuses a node of another shape, or one that is empty: "where must be wanted, got a list". */
int adl_yaml_expect(struct adl_yaml *yaml, const struct adl_yaml_node *node, enum adl_yaml_shape shape,
                    const char *where, const char *wanted, struct adl_error *err);

#endif
