/* cluster: the cluster as Slurm last described it, and the messages about what changed since.
 *
 * Slurm sends all jobs or nothing (slurm_load_jobs with the time of the last answer), so each message is written, and
 * sent if its hash differs from that of the last about the same job. */
#ifndef ADLRO_SLURM_CLUSTER_H
#define ADLRO_SLURM_CLUSTER_H

#include "base/error.h"
#include "base/text.h"
#include "slurm/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adl_slurm_limits;
struct adl_slurm_backoff;
struct job_info;
struct job_info_msg;
struct node_info_msg;
struct partition_info;
struct partition_info_msg;
struct reserve_info_msg;

#define ADL_PARTITIONS_MAX 32

/* A node and its GPUs, from Slurm's record. */
struct adl_slurm_node {
    const char *name;     /* points into the record */
    const char *features; /* the active ones */
    struct adl_gpu_counts gpus, used;
    uint32_t cpus;
    uint64_t memory_mib;
    bool usable;
};

/* The last message about a job or a node. */
struct adl_slurm_sent {
    uint64_t id; /* of a node: hash of its name */
    uint64_t hash;
    uint32_t record; /* index into the message it came from */
    bool pass;       /* seen in the current pass */
    char node[64];   /* its name; of a job "" */
};

struct adl_slurm_sents {
    struct adl_slurm_sent *items; /* sorted by id */
    size_t count, capacity;
};

struct adl_slurm_cluster {
    char partitions[ADL_PARTITIONS_MAX][64]; /* ours */
    uint32_t partition_count;
    /* As last loaded; NULL before. Owned. */
    struct job_info_msg *jobs;
    struct node_info_msg *node_msg;
    struct partition_info_msg *partition_msg;
    struct reserve_info_msg *reservation_msg;
    struct adl_slurm_node *nodes; /* as many as node_msg has */
    size_t node_capacity;
    struct adl_slurm_sents sent_jobs, sent_nodes;
    struct adl_slurm_limits *limits; /* owned; NULL before the first pass */
    struct adl_slurm_backoff *backoffs;
    size_t backoff_count, backoff_capacity;
    bool reload_jobs;  /* load jobs even if Slurm says that none changed: we changed some */
    const char *meter; /* what nodes' energy meters measure (slurm/meter.h); NULL: there are none */
    bool metered;      /* slurmctld reads them regularly */
    int64_t now_us;    /* wall clock of the current pass */
    bool jobs_changed; /* since all nodes were last loaded */
    int64_t whole_due_us;
    int64_t lifted_s;    /* ends of jobs up to then have lifted refusals */
    int64_t slow_due_us; /* when partitions, reservations and what depends on time alone are next read */
};

void adl_slurm_cluster_clear(struct adl_slurm_cluster *cluster); /* frees; accepts a zeroed one */
/* Forgets what was loaded, so that all is loaded and sent again; jobs and nodes that no longer exist are sent as gone.
 */
void adl_slurm_cluster_restart(struct adl_slurm_cluster *cluster);

/* Loads what changed and appends a message about each change to out. ADL_EIO if slurmctld does not answer; what was
 * appended by then is valid. */
int adl_slurm_cluster_poll(struct adl_slurm_cluster *cluster, int64_t now_us, struct adl_text *out,
                           struct adl_error *err);

bool adl_slurm_is_ours(const struct adl_slurm_cluster *cluster, const char *partition);
/* NULL if there is none of this name. */
const struct adl_slurm_node *adl_slurm_node_find(const struct adl_slurm_cluster *cluster, const char *name);
const struct partition_info *adl_slurm_partition_find(const struct adl_slurm_cluster *cluster, const char *name);
/* The record of this job, its own or that of its array; NULL if Slurm has none. */
const struct job_info *adl_slurm_job_find(const struct adl_slurm_cluster *cluster, uint64_t id);
/* The next message about it is sent even if nothing changed: the service expects one. */
void adl_slurm_job_resend(struct adl_slurm_cluster *cluster, uint64_t id);

/* Whether the list "v[0-1],t0" has this node. NULL has none. */
bool adl_slurm_hosts_have(const char *hosts, const char *name);
/* Calls visit for each host of the list. */
void adl_slurm_hosts_each(const char *hosts, void (*visit)(void *context, const char *name), void *context);

#endif
