/* findings: the nodes and GPUs that `adlro discover` found, and what it did not find out. */
#ifndef ADLRO_CLI_DISCOVER_FINDINGS_H
#define ADLRO_CLI_DISCOVER_FINDINGS_H

#include "base/text.h"
#include "scenario/catalogue.h"
#include "telemetry/smi_file.h"

#define ADL_FOUND_BANKS_MAX 8u /* kinds of GPUs in one node */

/* Equal GPUs of one node. The device is the first of them. */
struct adl_found_bank {
    struct adl_smi_gpu gpu;
    uint32_t count;
};

/* 0 = not found out. */
struct adl_found_node {
    char name[ADL_NAME_SIZE];
    int32_t cpu_cores;
    int32_t memory_mib;
    struct adl_found_bank banks[ADL_FOUND_BANKS_MAX];
    uint32_t bank_count;
};

struct adl_findings {
    struct adl_found_node *nodes;
    size_t count, capacity;
    struct adl_text notes; /* a line each: what to check, and how to state it */
};

void adl_findings_clear(struct adl_findings *findings); /* accepts a zeroed one */

/* In characters that names may have: a letter or digit, then letters, digits and . _ + -. */
void adl_findings_tidy(const char *name, char ret[ADL_NAME_SIZE]);
/* A node of that name, tidied; a new one if there is none yet. NULL if out of memory. */
struct adl_found_node *adl_findings_node(struct adl_findings *findings, const char *name);
/* GPUs of one kind; those equal to some that the node has are counted there. */
void adl_findings_add(struct adl_findings *findings, struct adl_found_node *node, const struct adl_smi_gpu *gpu,
                      uint32_t count);
void adl_findings_note(struct adl_findings *findings, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- where they come from; each adds to what is there ---- */

int adl_discover_machine(struct adl_findings *findings, struct adl_error *err);
int adl_discover_nvidia_smi(struct adl_findings *findings, const char *path, struct adl_error *err);
int adl_discover_rocm_smi(struct adl_findings *findings, const char *path, struct adl_error *err);
int adl_discover_slurm(struct adl_findings *findings, const char *path, struct adl_error *err); /* a slurm.conf */
int adl_discover_sinfo(struct adl_findings *findings, const char *path, struct adl_error *err);
int adl_discover_kubernetes(struct adl_findings *findings, const char *path, struct adl_error *err);

/* ---- what becomes of them ---- */

/* A cluster file; adds notes about what it assumes. name is that of the cluster. */
void adl_findings_write(struct adl_findings *findings, const struct adl_catalogue *catalogue, const char *name,
                        const char *source, struct adl_text *text);
void adl_findings_write_json(const struct adl_findings *findings, const struct adl_catalogue *catalogue,
                             struct adl_text *text);

#endif
