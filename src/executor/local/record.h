/* record: small files of named fields, written atomically.
 *
 *     adlro-result 1
 *     exit_code=1:3
 *     reason=12:line one
 *     two
 *     end
 *
 * A field is key=SIZE:bytes and a line feed, so values may hold anything but zero bytes. The last line shows that the
 * record is complete. A record written into reserved space is followed by a checksum, sum=HEX, and zero bytes up to the
 * end of the space. */
#ifndef ADLRO_EXECUTOR_LOCAL_RECORD_H
#define ADLRO_EXECUTOR_LOCAL_RECORD_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A NULL-terminated list of strings, as exec takes it. */
struct adl_strings {
    const char **items;
    uint32_t count;
};

enum adl_record_kind {
    ADL_RECORD_INT,     /* int64_t; 0 is left out */
    ADL_RECORD_BOOL,    /* bool; false is left out */
    ADL_RECORD_STRING,  /* const char *; when read it points into the record's bytes; NULL is left out */
    ADL_RECORD_CHARS,   /* char[size]; empty is left out */
    ADL_RECORD_STRINGS, /* struct adl_strings, one field for each */
};

/* One member of a struct that is kept as a record. */
struct adl_record_field {
    const char *key; /* a-z and _ */
    enum adl_record_kind kind;
    size_t offset;
    size_t size; /* of CHARS */
};

struct adl_record_form {
    const char *title; /* first line: what it is, and its version */
    const struct adl_record_field *fields;
    uint32_t field_count;
    size_t size_max; /* largest size of a file in bytes */
    bool reserved;   /* its space may be reserved; it is then written in place, with a checksum */
};

#define ADL_RECORD_STRINGS_MAX 32768 /* in one list */
#define ADL_RECORD_MISSING     1     /* a status, not an error: there is no such file */

/* The bytes of a record that was read; strings in the object point into them. */
struct adl_record {
    char *bytes;
};

/* Appends; memory is checked with adl_text_status(). */
void adl_record_print(struct adl_text *text, const struct adl_record_form *form, const void *object);

/* Parses text in place (size bytes and a terminating zero) into a zeroed object. Lists are allocated; the caller clears
 * them, on failure too. */
int adl_record_parse(char *bytes, size_t size, const struct adl_record_form *form, void *object, const char *name,
                     struct adl_error *err);

/* Reads the file; 0, ADL_RECORD_MISSING, or an error. The object has to be zeroed. */
int adl_record_load(int dir, const char *name, const struct adl_record_form *form, void *object,
                    struct adl_record *ret_record, struct adl_error *err);
void adl_record_clear(struct adl_record *record, const struct adl_record_form *form, void *object);

enum adl_record_store {
    ADL_RECORD_REPLACE = 0,
    ADL_RECORD_EXCLUSIVE = 1, /* ADL_EREFUSED if there is such a file already */
    ADL_RECORD_SYNC = 2,      /* on disk when the call returns */
};

/* Writes a draft file and renames it, so that readers and crashes see all of it or nothing. how: flags of enum
 * adl_record_store. */
int adl_record_store(int dir, const char *name, const struct adl_record_form *form, const void *object, unsigned how,
                     struct adl_error *err);

/* Allocates the file without a record, so that the record can be written later even if the disk is full. how:
 * ADL_RECORD_SYNC or 0. An existing file keeps its content. */
int adl_record_reserve(int dir, const char *name, const struct adl_record_form *form, unsigned how,
                       struct adl_error *err);

/* Writes the record into its reserved space, once, and syncs it: ADL_EREFUSED if there is a complete one already. If no
 * space was reserved, creates the file. An interrupted write leaves a record that counts as missing. */
int adl_record_fill(int dir, const char *name, const struct adl_record_form *form, const void *object,
                    struct adl_error *err);

#endif
