/* snapshot: a copy of the live engine and of its recent past, for a thread that plays futures of it (twin/fork.h).
 *
 * Only the deciding thread may read its engine between two decisions, so it makes the copies, when a thread asks for
 * one. It spends at most a fiftieth of its time on them: after a copy the next one waits 49 times as long as that copy
 * took. All memory is allocated, and engines are created, in the thread that asks, except for growth. */
#ifndef ADLRO_SERVICE_SNAPSHOT_H
#define ADLRO_SERVICE_SNAPSHOT_H

#include "service/request_queue.h"
#include "twin/fork.h"

/* The service's part. */
struct adl_snapshots;

struct adl_snapshots_config {
    const struct adl_cluster *cluster;
    struct adl_request_queue *request_queue; /* to wake the deciding thread; outlives it */
    struct adl_preemption preemption;        /* of futures, as struct adl_fork_config has them */
    bool kill_at_limit, one_by_one;
};

struct adl_snapshots_counts {
    uint64_t copies;
    double copy_s, longest_s; /* that the deciding thread spent on them, and on the longest one */
};

int adl_snapshots_create(const struct adl_snapshots_config *config, struct adl_snapshots **ret, struct adl_error *err);
void adl_snapshots_destroy(struct adl_snapshots *snapshots); /* accepts NULL; all snapshots are destroyed before */
struct adl_observer adl_snapshots_observer(struct adl_snapshots *snapshots); /* of each live engine */

/* The recent past as bytes, and back (twin/recent.h); in the deciding thread. */
void adl_snapshots_encode(const struct adl_snapshots *snapshots, int64_t wall_ahead_us, struct adl_text *ret);
int adl_snapshots_decode(struct adl_snapshots *snapshots, const void *bytes, size_t size, int64_t wall_ahead_us,
                         int64_t now_us, struct adl_error *err);

/* In the deciding thread. Serve: between two decisions, with the engine in force; it is now_us, and wall time is ahead
 * of that. Change: another engine is in force. End: nobody gets a copy any more, and who waits for one gets an error;
 * from any thread. */
void adl_snapshots_serve(struct adl_snapshots *snapshots, const struct adl_engine *engine, int64_t now_us,
                         int64_t wall_ahead_us);
void adl_snapshots_change(struct adl_snapshots *snapshots);
void adl_snapshots_end(struct adl_snapshots *snapshots);
struct adl_snapshots_counts adl_snapshots_counts(struct adl_snapshots *snapshots); /* from any thread */

/* A copy, of one thread, which uses it for one moment after the other. */
struct adl_snapshot;

int adl_snapshot_create(struct adl_snapshots *snapshots, struct adl_snapshot **ret, struct adl_error *err);
void adl_snapshot_destroy(struct adl_snapshot *snapshot); /* accepts NULL */

/* Becomes equal to the live engine of this moment. Waits at most this long; without the service state's lock.
 * ADL_EREFUSED: no copy was made in time, or the service ends; ADL_EINVAL: the policy cannot be copied. It then has no
 * engine. */
int adl_snapshot_take(struct adl_snapshot *snapshot, double wait_s, struct adl_error *err);

/* For adl_fork_create() and adl_fork_begin(). A fork that was created before `version` changed is of another policy or
 * other options: create it again. */
struct adl_snapshot_view {
    const struct adl_engine *engine;
    const struct adl_recent *recent;
    uint64_t version;
    int64_t wall_ahead_us;       /* wall time less the engine's time */
    struct adl_fork_config fork; /* of this engine; without an observer */
};
struct adl_snapshot_view adl_snapshot_view(const struct adl_snapshot *snapshot); /* after a take that succeeded */

#endif
