/* replay: the options of the verb, shared by its two kinds of input: recordings and traces. */
#ifndef ADLRO_CLI_REPLAY_H
#define ADLRO_CLI_REPLAY_H

#include "base/error.h"
#include "cli/choices.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_replay_options {
    const char *cluster;
    const char *policies;
    struct adl_choice_options choice;
    const char *model;
    const char *format;
    const char *throughputs;
    const char *belief, *learn;
    const char *export;
    const char *json, *csv, *html;
    int regime; /* ADL_REGIME_COUNT = declared if the trace has limits, else learned */
    const char *site_limit;
    int time_unit; /* index into adl_time_unit_names */
    int64_t jobs;  /* 0 = all */
    int64_t threads;
    bool strict;
    bool no_timing;
};

extern const char *const adl_time_unit_names[]; /* ends with NULL */

struct adl_policy_ops;
struct adl_recording_head;
struct adl_scenario;

/* The policy and the scenario that a recording was made with; throughputs may be NULL. The caller passes a zeroed
 * scenario and clears it, on failure too. */
int adl_replay_prepare(const struct adl_recording_head *head, const char *throughputs,
                       const struct adl_cli_plugins *plugins, const struct adl_policy_ops **ret_policy,
                       struct adl_scenario *ret, struct adl_error *err);

/* replay_trace.c: the jobs of a trace under several policies. */
int adl_replay_trace(const char *path, const struct adl_replay_options *options, struct adl_error *err);

/* trace_export.c: the usable rows of a trace in our own CSV, the first jobs_max of them (0 = all). The file is written
 * atomically. */
struct adl_trace_options;
int adl_trace_export(const char *path, const struct adl_trace_options *options, uint64_t jobs_max, const char *to,
                     struct adl_error *err);

#endif
