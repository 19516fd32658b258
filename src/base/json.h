/* json: writes JSON into a text, value by value, with commas, indentation and escapes taken care of.
 *
 *     adl_json_object(&json);
 *     adl_json_put_uint(&json, "seeds", 30);
 *     adl_json_end(&json);
 *
 * The order of calls is the caller's duty and asserted. Memory is checked once, with adl_text_status() on the
 * text. */
#ifndef ADLRO_BASE_JSON_H
#define ADLRO_BASE_JSON_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define ADL_JSON_DEPTH_MAX 63

struct adl_json {
    struct adl_text *text; /* not owned */
    bool pretty;           /* one member a line, indented; else everything on one line */
    /* What follows is the writer's own; depth is back at 0 when every container was ended. */
    uint32_t depth;
    uint32_t flat_depth; /* containers at this depth and below go on one line; 0 = none */
    bool flat_next;
    bool after_key;
    uint64_t objects; /* bit d: the container at depth d is an object */
    uint64_t filled;  /* bit d: it has a member */
    uint64_t broken;  /* bit d: it was broken into lines */
};

struct adl_json adl_json_start(struct adl_text *text, bool pretty);

void adl_json_object(struct adl_json *json);
void adl_json_array(struct adl_json *json);
void adl_json_end(struct adl_json *json);  /* of the innermost object or array */
void adl_json_flat(struct adl_json *json); /* the next object or array goes on one line, however pretty the rest */

void adl_json_key(struct adl_json *json, const char *key);
void adl_json_string(struct adl_json *json,
                     const char *string);                /* NULL is null; bytes that are not UTF-8 become U+FFFD */
void adl_json_real(struct adl_json *json, double value); /* not finite: null, because JSON has no other value for it */
void adl_json_int(struct adl_json *json, int64_t value);
void adl_json_uint(struct adl_json *json, uint64_t value);
void adl_json_bool(struct adl_json *json, bool value);
void adl_json_null(struct adl_json *json);
void adl_json_raw(struct adl_json *json, const char *value); /* JSON text, copied verbatim */

/* A member of an object: the key and its value. */
void adl_json_put_string(struct adl_json *json, const char *key, const char *value);
void adl_json_put_real(struct adl_json *json, const char *key, double value);
void adl_json_put_int(struct adl_json *json, const char *key, int64_t value);
void adl_json_put_uint(struct adl_json *json, const char *key, uint64_t value);
void adl_json_put_bool(struct adl_json *json, const char *key, bool value);

#endif
