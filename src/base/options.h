/* options: the command line of one verb as one typed table, from which both the parser and --help come. */
#ifndef ADLRO_BASE_OPTIONS_H
#define ADLRO_BASE_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum adl_option_kind {
    ADL_OPTION_FLAG, /* bool */
    ADL_OPTION_TEXT, /* const char *, points into argv */
    ADL_OPTION_INT,  /* int64_t */
    ADL_OPTION_REAL, /* double */
    ADL_OPTION_NAME, /* int, an index into names */
    ADL_OPTION_LIST, /* struct adl_option_list: may be given several times */
};

#define ADL_OPTION_LIST_MAX 32

struct adl_option_list {
    const char *items[ADL_OPTION_LIST_MAX]; /* point into argv */
    uint32_t count;
};

#define ADL_OPTIONS_MAX 64

struct adl_option {
    const char *name;         /* without the dashes */
    char letter;              /* short form, or 0 */
    uint8_t kind;             /* enum adl_option_kind */
    size_t offset;            /* into the verb's struct */
    double min, max;          /* INT, REAL */
    const char *const *names; /* NAME: ends with NULL */
    const char *value;        /* what the help calls the value: "N", "FILE"; NULL for flags */
    const char *help;
};

/* A row of the table for a member of the verb's struct. */
#define ADL_ROW_TEXT(type, member, name, letter, value, help)                                                          \
    {                                                                                                                  \
        name, letter, ADL_OPTION_TEXT, offsetof(type, member), 0, 0, NULL, value, help                                 \
    }
#define ADL_ROW_FLAG(type, member, name, letter, help)                                                                 \
    {                                                                                                                  \
        name, letter, ADL_OPTION_FLAG, offsetof(type, member), 0, 0, NULL, NULL, help                                  \
    }

/* -h and --help are part of every verb and in no table. */
struct adl_verb {
    const char *name;     /* "compare" */
    const char *summary;  /* a sentence or two */
    const char *operands; /* usage text of what is not an option: "SCENARIO"; NULL if there is none */
    int operands_min;
    int operands_max;
    bool options_first; /* the first operand ends the options: what follows is another program's command line */
    const struct adl_option *options;
    size_t option_count;
    struct {
        const char *also, *name; /* --also is understood as --name; NULL = none */
    } alias;
    const char *example; /* a whole command; several with a newline between them */
};

struct adl_operands {
    char **items; /* a slice of argv */
    int count;
    uint64_t seen; /* which options were given: a bit for each row of the table */
};

#define ADL_OPTIONS_HELP 1

/* argv holds what follows the verb's name; its operands are moved to the front, in order, the rest stays
 * behind them in order ("--" too). The caller fills target with defaults first. Returns 0, ADL_OPTIONS_HELP if help was
 * asked for, or ADL_EINVAL; only on 0 is anything changed. */
int adl_options_parse(const struct adl_verb *verb, int argc, char **argv, void *target,
                      struct adl_operands *ret_operands, struct adl_error *err);

/* Writes the help text piece by piece, lines of at most 100 columns. program is "adlro", or "" if the verb is a program
 * itself; defaults is the verb's struct as filled before parsing, or NULL to leave defaults out. */
void adl_options_help(const struct adl_verb *verb, const char *program, const void *defaults,
                      void (*write)(void *context, const char *text), void *context);

#endif
