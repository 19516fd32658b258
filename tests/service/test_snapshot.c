/* Copies of the live engine for other threads: they equal it, follow it to another policy, take a bounded share of the
 * deciding thread's time, and end with the service. */
#include "random_scenario.h"

#include "experiment/run.h"
#include "service/snapshot.h"
#include "sim/world_sim.h"

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define JOBS 200

/* A deciding thread's part: an engine on a simulated world. */
struct live {
    struct adl_scenario scenario;
    struct adl_request_queue *queue;
    struct adl_snapshots *snapshots;
    struct adl_world_sim *world;
    struct adl_engine *engine;
};

static struct adl_engine *create_engine(struct live *live, const struct adl_policy_ops *policy)
{
    struct adl_error err = {.text = ""};
    struct adl_engine *engine = NULL;
    const struct adl_engine_config config = {.cluster = &live->scenario.cluster,
                                             .policy = policy,
                                             .policy_config = adl_run_policy_config(&live->scenario),
                                             .seed = 1,
                                             .learned = true,
                                             .world_ops = &adl_world_sim_ops,
                                             .world = live->world,
                                             .observers = {adl_snapshots_observer(live->snapshots)},
                                             .observer_count = 1};
    if (adl_engine_create(&config, &engine, &err))
        fail_msg("%s", err.text);
    return engine;
}

static void open_live(struct live *live)
{
    struct adl_error err = {.text = ""};
    *live = (struct live){.scenario = random_scenario(3, JOBS)};
    live->scenario.workload.arrivals.rate_per_h *= 4;
    if (adl_request_queue_create(16, &live->queue, &err))
        fail_msg("%s", err.text);
    const struct adl_snapshots_config config = {.cluster = &live->scenario.cluster,
                                                .request_queue = live->queue,
                                                .preemption = live->scenario.preemption,
                                                .kill_at_limit = true};
    if (adl_snapshots_create(&config, &live->snapshots, &err) ||
        adl_world_sim_create(&live->scenario, 3, ADL_REGIME_LEARNED, &live->world, &err))
        fail_msg("%s", err.text);
    live->engine = create_engine(live, adl_policy_find("easy"));
}

static void close_live(struct live *live)
{
    adl_engine_destroy(live->engine);
    adl_world_sim_destroy(live->world);
    adl_snapshots_destroy(live->snapshots);
    adl_request_queue_destroy(live->queue);
    adl_scenario_clear(&live->scenario);
}

/* A thread that wants copies. */
struct reader {
    struct adl_snapshots *snapshots;
    struct adl_snapshot *snapshot;
    double wait_s;
    int status;
    atomic_bool done;
    pthread_t thread;
};

static void *take_one(void *self)
{
    struct reader *reader = self;
    reader->status = adl_snapshot_take(reader->snapshot, reader->wait_s, NULL);
    atomic_store(&reader->done, true);
    return NULL;
}

static void begin(struct reader *reader, struct live *live, double wait_s)
{
    reader->snapshots = live->snapshots;
    reader->wait_s = wait_s;
    atomic_store(&reader->done, false);
    if (!reader->snapshot)
        assert_int_equal(adl_snapshot_create(live->snapshots, &reader->snapshot, NULL), 0);
    assert_int_equal(pthread_create(&reader->thread, NULL, take_one, reader), 0);
}

/* The deciding thread stands still, and makes copies until the reader has one. */
static void serve(struct reader *reader, struct live *live)
{
    while (!atomic_load(&reader->done)) {
        adl_snapshots_serve(live->snapshots, live->engine, adl_engine_state(live->engine)->now_us + 3, 5);
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    pthread_join(reader->thread, NULL);
}

static void step(struct live *live, int steps)
{
    struct adl_error err = {.text = ""};
    for (int i = 0; i < steps; i++)
        if (adl_engine_step(live->engine, &err) < 0)
            fail_msg("%s", err.text);
}

static void a_copy_equals_the_engine_of_that_moment(void **unused)
{
    (void)unused;
    struct live live;
    struct reader reader = {0};
    open_live(&live);
    for (int i = 0; i < 5; i++) {
        step(&live, 50);
        begin(&reader, &live, 60);
        serve(&reader, &live);
        assert_int_equal(reader.status, 0);
        const struct adl_snapshot_view view = adl_snapshot_view(reader.snapshot);
        const struct adl_state *there = adl_engine_state(view.engine), *here = adl_engine_state(live.engine);
        assert_true(adl_engine_counts(view.engine)->plan_hash == adl_engine_counts(live.engine)->plan_hash);
        assert_true(there->now_us == here->now_us + 3 && there->queue.count == here->queue.count);
        assert_int_equal(view.wall_ahead_us, 5);
    }
    adl_snapshot_destroy(reader.snapshot);
    close_live(&live);
}

/* Settings of the old policy may be freed once another is in force. */
static void a_copy_follows_to_another_policy(void **unused)
{
    (void)unused;
    struct live live;
    struct reader reader = {0};
    open_live(&live);
    step(&live, 20);
    begin(&reader, &live, 60);
    serve(&reader, &live);
    const uint64_t before = adl_snapshot_view(reader.snapshot).version;
    struct adl_engine *next = create_engine(&live, adl_policy_find("srtf"));
    adl_engine_destroy(live.engine);
    live.engine = next;
    adl_snapshots_change(live.snapshots);
    begin(&reader, &live, 60);
    serve(&reader, &live);
    assert_int_equal(reader.status, 0);
    const struct adl_snapshot_view view = adl_snapshot_view(reader.snapshot);
    assert_true(view.version != before);
    assert_string_equal(adl_engine_config(view.engine)->policy->name, "srtf");
    adl_snapshot_destroy(reader.snapshot);
    close_live(&live);
}

static void who_gets_no_copy_is_refused(void **unused)
{
    (void)unused;
    struct live live;
    struct reader late = {0}, ended = {0};
    open_live(&live);
    begin(&late, &live, 0.01);
    pthread_join(late.thread, NULL);
    assert_int_equal(late.status, ADL_EREFUSED);
    begin(&ended, &live, 3600);
    adl_snapshots_end(live.snapshots);
    pthread_join(ended.thread, NULL);
    assert_int_equal(ended.status, ADL_EREFUSED);
    adl_snapshot_destroy(late.snapshot);
    adl_snapshot_destroy(ended.snapshot);
    close_live(&live);
}

static void copies_take_at_most_a_fiftieth_of_the_time(void **unused)
{
    (void)unused;
    struct live live;
    struct reader readers[2] = {0};
    open_live(&live);
    step(&live, 100);
    const int64_t begin_ns = adl_clock_ns();
    for (int i = 0; i < 6; i++) {
        begin(&readers[0], &live, 60);
        begin(&readers[1], &live, 60);
        serve(&readers[0], &live);
        serve(&readers[1], &live);
    }
    const double passed_s = (double)(adl_clock_ns() - begin_ns) * 1e-9;
    const struct adl_snapshots_counts counts = adl_snapshots_counts(live.snapshots);
    assert_int_equal(counts.copies, 12);
    assert_true(counts.copy_s <= passed_s / 50 + counts.longest_s);
    adl_snapshot_destroy(readers[0].snapshot);
    adl_snapshot_destroy(readers[1].snapshot);
    close_live(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_equals_the_engine_of_that_moment),
        cmocka_unit_test(a_copy_follows_to_another_policy),
        cmocka_unit_test(who_gets_no_copy_is_refused),
        cmocka_unit_test(copies_take_at_most_a_fiftieth_of_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
