/* cli: what the verbs share: exit codes, messages, progress. Only this folder prints and exits. */
#ifndef ADLRO_CLI_CLI_H
#define ADLRO_CLI_CLI_H

#include "base/error.h"
#include "base/options.h"
#include "cli/output.h"
#include "policy/policy.h"

#include <stddef.h>
#include <stdint.h>

enum adl_exit { ADL_EXIT_DONE = 0, ADL_EXIT_FAILED = 1, ADL_EXIT_USAGE = 2 };

struct adl_command_verb {
    const struct adl_verb *verb;
    int (*run)(int argc, char **argv); /* what follows the verb's name; returns an exit code */
};

extern const struct adl_command_verb adl_verb_compare;
extern const struct adl_command_verb adl_verb_arena;
extern const struct adl_command_verb adl_verb_simulate;
extern const struct adl_command_verb adl_verb_replay;
extern const struct adl_command_verb adl_verb_train;
extern const struct adl_command_verb adl_verb_tune;
extern const struct adl_command_verb adl_verb_estimate;
extern const struct adl_command_verb adl_verb_score;
extern const struct adl_command_verb adl_verb_scenario;
extern const struct adl_command_verb adl_verb_policies;
extern const struct adl_command_verb adl_verb_gpus;
extern const struct adl_command_verb adl_verb_discover;
extern const struct adl_command_verb adl_verb_serve;
extern const struct adl_command_verb adl_verb_slurm;
extern const struct adl_command_verb adl_verb_backup;
extern const struct adl_command_verb adl_verb_belief;
extern const struct adl_command_verb adl_verb_whatif;

/* Those that talk to a running service. */
extern const struct adl_command_verb adl_verb_submit;
extern const struct adl_command_verb adl_verb_queue;
extern const struct adl_command_verb adl_verb_show;
extern const struct adl_command_verb adl_verb_log;
extern const struct adl_command_verb adl_verb_explain;
extern const struct adl_command_verb adl_verb_cancel;
extern const struct adl_command_verb adl_verb_hold;
extern const struct adl_command_verb adl_verb_release;
extern const struct adl_command_verb adl_verb_requeue;
extern const struct adl_command_verb adl_verb_priority;
extern const struct adl_command_verb adl_verb_progress;
extern const struct adl_command_verb adl_verb_drain;
extern const struct adl_command_verb adl_verb_health;
extern const struct adl_command_verb adl_verb_shadow;
extern const struct adl_command_verb adl_verb_promote;
extern const struct adl_command_verb adl_verb_power;
extern const struct adl_command_verb adl_verb_top;
extern const struct adl_command_verb adl_verb_token;

/* Parses; true to continue. Else *ret_exit is the exit code, and help or the message has been printed. */
bool adl_cli_parse(const struct adl_verb *verb, int argc, char **argv, void *options, struct adl_operands *ret_operands,
                   int *ret_exit);

/* Prints "adlro VERB: text" on stderr and returns the exit code of the status: 2 for bad input, else 1. */
int adl_cli_fail(const struct adl_verb *verb, int status, const struct adl_error *err);

/* --model FILE: gives the scenario's policies a trained network. The caller frees its bytes after the last use of the
 * scenario. A path of NULL changes nothing. */
int adl_cli_model(const char *path, struct adl_scenario *scenario, char **ret_bytes, struct adl_error *err);

/* A bar on stderr with rate and time left, if stderr is a terminal and the work takes long. */
struct adl_progress {
    int64_t start_ns;
    int64_t shown_ns;
    const char *unit;
    bool active;
    bool drawn;
};

void adl_progress_begin(struct adl_progress *progress, const char *unit);
void adl_progress_show(void *progress, uint64_t done, uint64_t total); /* fits adl_comparison_request.progress */
void adl_progress_end(struct adl_progress *progress);

uint32_t adl_cli_cores(void);

#endif
