/* recording: a run as lines of JSON: a heading that makes it self-contained, then events, commands and decisions, and a
 * last line with a checksum of the lines before it.
 *
 *   {"adlro":"recording","version":1,"policy":"easy","seed":7,"regime":"declared","scenario":"...","catalogue":"..."}
 *   {"t":1000,"event":"submit","job":0,...}      from the world
 *   {"t":9000,"event":"progress","job":0,"steps_per_s":9.4}
 *   {"start":0,"gpus":[3,4],"why":{"rule":"shortest","other":1,"value":12,"against":40.5,"waited_us":1000}}
 *                                                a command and its reason (model/reason.h), for people; not read back
 *   {"cap_w":150,"gpus":[3,4]}                   0 lifts the cap
 *   {"decision":"9f86d081884c7d65","reasons":"..."}  hashes of all commands of the instant and of their reasons
 *   {"end":"recording","lines":812,"seal":"..."} number of lines before it, and a hash of them */
#ifndef ADLRO_EXPERIMENT_RECORDING_H
#define ADLRO_EXPERIMENT_RECORDING_H

#include "base/error.h"
#include "base/text.h"
#include "model/cluster.h"
#include "model/event.h"
#include "model/plan.h"

#include <stdio.h>

struct adl_recording_head {
    const char *policy;
    const char *regime;
    const char *name; /* of the scenario's file, for messages */
    uint64_t seed;
    const char *scenario;  /* YAML text */
    const char *catalogue; /* YAML text */
    const char *settings;  /* of the policy, beyond the scenario's: lines of OPTION=VALUE; NULL = none */
    const char *belief;    /* checksum of the belief that the run started with, 16 digits; NULL = none */
};

/* Covers every line before the last; zeroed: no line yet. */
struct adl_recording_seal {
    uint64_t lines;
    uint64_t hash;
};

void adl_recording_seal_line(struct adl_recording_seal *seal, const char *line, size_t size); /* with its newline */

/* Writing: each appends one line. */
void adl_recording_write_head(struct adl_text *text, const struct adl_recording_head *head);
void adl_recording_write_event(struct adl_text *text, const struct adl_event *event, uint32_t type_count);
void adl_recording_write_command(struct adl_text *text, const struct adl_command *command, const uint32_t *gpus);
/* Reasons: as in struct adl_recorded. */
void adl_recording_write_decision(struct adl_text *text, uint64_t hash, uint64_t reasons);
void adl_recording_write_end(struct adl_text *text, const struct adl_recording_seal *seal);

/* Reading, line by line. */
struct adl_recording;

/* On success *ret_head points into the recording. path is for messages; file stays the caller's. */
int adl_recording_open(const char *path, FILE *file, struct adl_recording **ret, struct adl_recording_head *ret_head,
                       struct adl_error *err);
void adl_recording_close(struct adl_recording *recording); /* accepts NULL */

/* Events name GPU types by number: how many there are is known once the scenario has been read. */
void adl_recording_set_types(struct adl_recording *recording, uint32_t type_count);

/* 1: an event, valid until the next call; 2: a decision; 0: the end, and the seal is valid; negative with file and
 * line.
 */
int adl_recording_next(void *recording, struct adl_event *ret_event, struct adl_recorded *ret_decision,
                       struct adl_error *err);

/* Prefixes the caller's error with the file and the line last read. Returns status. */
int adl_recording_blame(const struct adl_recording *recording, int status, struct adl_error *err);

#endif
