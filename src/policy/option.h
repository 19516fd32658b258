/* option: the options of policies. Each policy declares a table of typed options and a struct that the table fills;
 * parsing, validation, `adlro policies NAME` and docs/policies.md come from the table.
 *
 * Settings are text: lines of OPTION=VALUE. A line whose option the policy does not have is not for it. */
#ifndef ADLRO_POLICY_OPTION_H
#define ADLRO_POLICY_OPTION_H

#include "base/error.h"
#include "base/range.h"
#include "model/scenario.h"
#include "policy/objective.h"

enum adl_policy_option_type {
    ADL_POLICY_BOOL,      /* bool */
    ADL_POLICY_INTEGER,   /* int64_t */
    ADL_POLICY_REAL,      /* double */
    ADL_POLICY_WORD,      /* int, an index into words */
    ADL_POLICY_TEXT,      /* char[ADL_POLICY_TEXT_SIZE] */
    ADL_POLICY_REALS,     /* struct adl_policy_reals: "0.6,0.8" */
    ADL_POLICY_AFFINITY,  /* struct adl_policy_affinity: "training:h100/a100,inference:t4" */
    ADL_POLICY_OBJECTIVE, /* struct adl_objective: "balanced", "tail:2,energy:0.5" */
};

#define ADL_POLICY_TEXT_SIZE  128
#define ADL_POLICY_REALS_MAX  8
#define ADL_POLICY_VALUE_SIZE 6400 /* holds an affinity of all kinds to all types */

struct adl_policy_reals {
    double items[ADL_POLICY_REALS_MAX];
    uint32_t count;
};

struct adl_policy_affinity {
    uint32_t types[ADL_KIND_COUNT]; /* masks of GPU types; a kind that is not named has them all */
};

union adl_policy_value {
    bool yes;
    int64_t integer;
    double real;
    int word;
    char text[ADL_POLICY_TEXT_SIZE];
    struct adl_policy_reals reals;
    struct adl_policy_affinity affinity;
    struct adl_objective objective;
};

struct adl_policy_option {
    const char *name;
    uint8_t type;             /* enum adl_policy_option_type */
    bool ascending;           /* REALS: each must be above the one before it */
    uint8_t most;             /* REALS: how many at most */
    size_t offset;            /* into the policy's struct of options */
    const char *value;        /* the default, as people write it; "" = an empty list, all types or no text */
    struct adl_range range;   /* INTEGER, REAL, each element of REALS */
    struct adl_range tune;    /* BOOL, INTEGER, REAL: where `adlro tune` searches; min = max = 0: nowhere */
    const char *const *words; /* WORD: ends with NULL */
    const char *help;         /* one line */
    const char *source;       /* where the option or its default comes from; NULL = it is our own */
};

/* How a policy names its table: .options of struct adl_policy_ops and the two beside it. */
#define ADL_POLICY_OPTIONS(table, type)                                                                                \
    .options = (table), .option_count = sizeof(table) / sizeof *(table), .options_size = sizeof(type)

/* Options that several policies have in common, for their tables. */
#define ADL_POLICY_SHARE(struct_type)                                                                                  \
    {                                                                                                                  \
        .name = "share", .type = ADL_POLICY_BOOL, .offset = offsetof(struct_type, share), .value = "false",            \
        .help = "let jobs that allow it share a GPU when none is free"                                                 \
    }
#define ADL_POLICY_FIRST_FIT(struct_type, by_default)                                                                  \
    {                                                                                                                  \
        .name = "first_fit", .type = ADL_POLICY_BOOL, .offset = offsetof(struct_type, first_fit),                      \
        .value = (by_default), .help = "a job that does not fit does not block those behind it"                        \
    }
#define ADL_POLICY_STOP_MARGIN(struct_type, by_default)                                                                \
    {                                                                                                                  \
        .name = "stop_margin", .type = ADL_POLICY_REAL, .offset = offsetof(struct_type, stop_margin),                  \
        .value = (by_default), .range = {.max = 1e6}, .tune = {.min = 1, .max = 64},                                   \
        .help = "a job is stopped only if that gains more than this many times what the stop costs, times 1 + its "    \
                "earlier stops"                                                                                        \
    }

/* A policy's options, its own first, then those that every policy has. */
uint32_t adl_policy_option_count(const struct adl_policy_ops *ops);
const struct adl_policy_option *adl_policy_option_at(const struct adl_policy_ops *ops, uint32_t index);
const struct adl_policy_option *adl_policy_option_find(const struct adl_policy_ops *ops, const char *name);

/* Reads a value into its place in a struct of options. On false, reason is the end of a sentence that begins with the
 * option's name: "must be between 1 and 64, got 0"; for an element of a list it begins with its index, "[1] must ...".
 * The cluster names the GPU types. */
#define ADL_POLICY_REASON_SIZE 400
bool adl_policy_option_read(const struct adl_policy_option *option, const char *text, const struct adl_cluster *cluster,
                            void *options, char reason[ADL_POLICY_REASON_SIZE]);

bool adl_policy_option_check(const struct adl_policy_option *option, const char *text,
                             const struct adl_cluster *cluster, char reason[ADL_POLICY_REASON_SIZE]);

/* "whole number between 1 and 1e6", "one of queue_order, ends_before". Returns buffer. */
const char *adl_policy_option_describe(const struct adl_policy_option *option, char buffer[ADL_REFUSAL_SIZE]);

const char *adl_policy_option_default(const struct adl_policy_option *option); /* for people: "none" if empty */

struct adl_policy_setting {
    char name[ADL_NAME_SIZE];
    char value[ADL_POLICY_VALUE_SIZE];
};

/* The setting at `at` of a text of settings, and where the next one begins; NULL if there is none left. */
const char *adl_policy_setting_next(const char *at, struct adl_policy_setting *ret);

/* True if settings, and then those of the policy itself, give an option another value than its default. */
bool adl_policy_option_changed(const struct adl_policy_ops *ops, uint32_t index, const char *settings,
                               struct adl_policy_setting *ret);

/* Fills a policy's struct of options, and what is common to all policies in config: defaults, then config->settings. */
int adl_policy_options_fill(const struct adl_policy_ops *ops, struct adl_policy_config *config,
                            const struct adl_cluster *cluster, void *ret_options, struct adl_error *err);

/* The same, and then ops->create(). */
int adl_policy_create(const struct adl_policy_ops *ops, struct adl_policy_config *config,
                      const struct adl_cluster *cluster, uint64_t seed, void **ret_policy, struct adl_error *err);

#endif
