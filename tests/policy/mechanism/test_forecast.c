/* Tests of decide/forecast: promises against a naive look at every later instant of small random states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/mechanism/forecast.h"
#include "state_fixture.h"

#define RUNNING_MAX 12 /* slots below this run */
#define WAITING     10 /* and the next ones wait */
#define TIMES_MAX   (2 + RUNNING_MAX + 2 * WAITING)

/* What a bank has left at one time. */
struct room {
    int32_t gpus, cores, memory_mib;
};

struct naive {
    const struct adl_state *state;
    struct adl_reservation promises[WAITING];
    uint32_t promise_count;
};

static int64_t end_of(const struct adl_state *state, uint32_t slot)
{
    const int64_t expected_us = state->jobs[slot].expected_us;
    return expected_us > state->now_us ? expected_us : state->now_us + 1;
}

static bool gone_by(const struct adl_state *state, uint32_t slot, int64_t time_us)
{
    return slot == ADL_NONE || end_of(state, slot) <= time_us;
}

/* The room of a bank at a time, if jobs end as believed and the promises are kept. */
static struct room room_at(const struct naive *naive, uint32_t bank, int64_t time_us)
{
    const struct adl_state *state = naive->state;
    const struct adl_cluster *cluster = state->cluster;
    const struct adl_bank *it = &cluster->banks[bank];
    struct room room = {0, cluster->nodes[it->node].cpu_cores, cluster->nodes[it->node].memory_mib};
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        if (adl_gpu_node_of(cluster, g) != it->node)
            continue;
        const struct adl_gpu_use *use = &state->gpus[g];
        bool free_then = !use->down;
        for (int place = 0; place < ADL_GPU_JOBS_MAX; place++) {
            if (gone_by(state, use->job[place], time_us))
                continue;
            free_then = false;
            room.cores -= state->jobs[use->job[place]].spec.cpu_cores;
            room.memory_mib -= state->jobs[use->job[place]].spec.memory_mib;
        }
        room.gpus += free_then && cluster->gpu_bank[g] == bank;
    }
    for (uint32_t i = 0; i < naive->promise_count; i++) {
        const struct adl_reservation *r = &naive->promises[i];
        const struct adl_job_spec *spec = &state->jobs[r->job].spec;
        if (cluster->banks[r->bank].node != it->node || time_us < r->start_us || time_us >= r->end_us)
            continue;
        room.gpus -= r->bank == bank ? (int32_t)r->gpus : 0;
        room.cores -= (int32_t)r->gpus * spec->cpu_cores;
        room.memory_mib -= (int32_t)r->gpus * spec->memory_mib;
    }
    return room;
}

static bool room_for(struct room room, const struct adl_job_spec *spec)
{
    return room.gpus >= spec->gpus && room.cores >= spec->gpus * spec->cpu_cores &&
           room.memory_mib >= spec->gpus * spec->memory_mib;
}

/* Now, and every time at which something changes later, sorted. */
static uint32_t times_of(const struct naive *naive, int64_t *ret)
{
    const struct adl_state *state = naive->state;
    int64_t raw[TIMES_MAX];
    uint32_t count = 0, kept = 0;
    raw[count++] = state->now_us;
    for (uint32_t slot = 0; slot < RUNNING_MAX; slot++)
        if (state->jobs[slot].phase == ADL_PHASE_RUNNING || state->jobs[slot].phase == ADL_PHASE_STOPPING)
            raw[count++] = end_of(state, slot);
    for (uint32_t i = 0; i < naive->promise_count; i++) {
        raw[count++] = naive->promises[i].start_us;
        raw[count++] = naive->promises[i].end_us;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = kept++;
        for (; at > 0 && ret[at - 1] > raw[i]; at--)
            ret[at] = ret[at - 1];
        ret[at] = raw[i];
    }
    return kept;
}

/* Room for the job in the bank through all of [start, start + run). */
static bool lasts(const struct naive *naive, uint32_t slot, uint32_t bank, int64_t start_us)
{
    const struct adl_state *state = naive->state;
    const struct adl_job_spec *spec = &state->jobs[slot].spec;
    const int64_t end_us = start_us + adl_state_remaining_us(state, slot, state->cluster->banks[bank].type);
    int64_t times[TIMES_MAX];
    const uint32_t count = times_of(naive, times);
    if (!(state->jobs[slot].eligible >> state->cluster->banks[bank].type & 1) ||
        !room_for(room_at(naive, bank, start_us), spec))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (times[i] > start_us && times[i] < end_us && !room_for(room_at(naive, bank, times[i]), spec))
            return false;
    return true;
}

/* The earliest start in any bank; INT64_MAX if there is none. */
static int64_t earliest(const struct naive *naive, uint32_t slot)
{
    int64_t times[TIMES_MAX];
    const uint32_t count = times_of(naive, times);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t bank = 0; bank < naive->state->cluster->bank_count; bank++)
            if (lasts(naive, slot, bank, times[i]))
                return times[i];
    return INT64_MAX;
}

/* Nodes of one type each, so that a bank has its node's cores and memory for itself; or of two types. */
static struct adl_cluster random_cluster(struct adl_rng *rng, bool mixed)
{
    struct adl_cluster cluster = {0};
    const uint32_t types = mixed ? 2 : fixture_between(rng, 1, 2), nodes = fixture_between(rng, 1, 3);
    fixture_types(&cluster, types);
    for (uint32_t n = 0; n < nodes; n++) {
        const uint32_t first = adl_rng_below(rng, types);
        const struct adl_bank_spec banks[] = {{first, fixture_between(rng, 1, 5)},
                                              {fixture_round(first, types - 1, types), fixture_between(rng, 1, 5)}};
        fixture_node_of(&cluster, banks, mixed ? 2 : 1, (int32_t)fixture_between(rng, 8, 20),
                        (int32_t)fixture_between(rng, 80, 200));
    }
    return cluster;
}

static struct adl_job_spec random_spec(struct adl_rng *rng, uint64_t id)
{
    struct adl_job_spec spec = fixture_spec(id, (uint16_t)fixture_between(rng, 1, 4));
    spec.cpu_cores = (int32_t)adl_rng_below(rng, 4);
    spec.memory_mib = (int32_t)adl_rng_below(rng, 40);
    spec.flags = (uint8_t)(adl_rng_below(rng, 3) ? 0 : ADL_JOB_SHARE);
    return spec;
}

static void admit(struct adl_state *state, uint32_t slot, const struct adl_job_spec *spec, struct adl_rng *rng)
{
    int64_t row[ADL_TYPES_MAX] = {0};
    for (uint32_t t = 0; t < state->cluster->type_count; t++)
        row[t] = adl_rng_below(rng, 8) ? fixture_between(rng, 1, 20) : 0;
    assert_int_equal(adl_state_admit(state, slot, spec, row), 0);
    assert_int_equal(adl_state_enqueue(state, slot, slot), 0);
}

/* Jobs that run, some of them beside another and some past their believed end; some GPUs down; others wait.
 */
static struct adl_state *random_state(const struct adl_cluster *cluster, struct adl_rng *rng)
{
    struct adl_state *state = fixture_state(cluster);
    state->now_us = 100;
    for (uint32_t slot = 0; slot < RUNNING_MAX; slot++) {
        const struct adl_job_spec spec = random_spec(rng, slot);
        uint32_t gpus[64];
        bool placed = false;
        admit(state, slot, &spec, rng);
        state->now_us = 100 - adl_rng_below(rng, 8);
        for (uint32_t t = 0; t < cluster->type_count && !placed; t++)
            placed = (state->jobs[slot].eligible >> t & 1) &&
                     (adl_fit_find(state, slot, t, NULL, gpus) || adl_fit_share(state, slot, t, NULL, gpus));
        if (placed)
            adl_state_start(state, slot, gpus);
        else
            adl_state_finish(state, slot);
        state->now_us = 100;
    }
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        if (state->gpus[g].job[0] == ADL_NONE && adl_rng_below(rng, 6) == 0)
            adl_state_gpu_down(state, g);
    for (uint32_t slot = RUNNING_MAX; slot < RUNNING_MAX + WAITING; slot++) {
        const struct adl_job_spec spec = random_spec(rng, slot);
        admit(state, slot, &spec, rng);
    }
    return state;
}

/* A promise is the earliest there can be, in a place that lasts. */
static void check_promise(const struct naive *naive, uint32_t slot, const struct adl_reservation *r, uint64_t seed)
{
    const struct adl_state *state = naive->state;
    const int64_t start_us = earliest(naive, slot);
    if (r->start_us != start_us)
        fail_msg("seed %llu: slot %u is promised %lld and could have %lld", (unsigned long long)seed, slot,
                 (long long)r->start_us, (long long)start_us);
    assert_int_equal(r->job, slot);
    assert_int_equal(r->gpus, state->jobs[slot].spec.gpus);
    assert_int_equal(r->type, state->cluster->banks[r->bank].type);
    assert_int_equal(r->end_us, r->start_us + adl_state_remaining_us(state, slot, r->type));
    assert_true(lasts(naive, slot, r->bank, r->start_us));
}

/* What a promise spares is what the naive look has left at its start when all promises are kept. */
static void check_spare(const struct naive *naive, const struct adl_reservation *r, uint64_t seed)
{
    const struct room room = room_at(naive, r->bank, r->start_us);
    assert_true(room.gpus >= 0 && room.cores >= 0 && room.memory_mib >= 0);
    if ((int64_t)r->spare != room.gpus || r->spare_cores != room.cores || r->spare_memory_mib != room.memory_mib)
        fail_msg("seed %llu: the promise to slot %u at %lld spares %u GPUs, %d cores, %d MiB; left are %d, %d, %d",
                 (unsigned long long)seed, r->job, (long long)r->start_us, r->spare, r->spare_cores,
                 r->spare_memory_mib, room.gpus, room.cores, room.memory_mib);
}

/* Promises for up to `most` of the jobs that cannot start now, as backfill asks for them; how many were made.
 */
static uint32_t check_state(uint64_t seed, const char *purpose, bool mixed, uint32_t most, bool spares)
{
    struct adl_rng rng;
    struct adl_forecast *forecast = NULL;
    adl_rng_seed(&rng, seed, purpose);
    struct adl_cluster cluster = random_cluster(&rng, mixed);
    struct adl_state *state = random_state(&cluster, &rng);
    struct naive naive = {.state = state};
    assert_int_equal(adl_forecast_create(&cluster, most, &forecast), 0);
    for (uint32_t slot = RUNNING_MAX; slot < RUNNING_MAX + WAITING && naive.promise_count < most; slot++) {
        const int64_t start_us = earliest(&naive, slot);
        if (start_us == state->now_us)
            continue;
        const bool promised = adl_forecast_reserve(forecast, state, slot);
        if (promised != (start_us != INT64_MAX))
            fail_msg("seed %llu: slot %u could have a start at %lld, and was %s", (unsigned long long)seed, slot,
                     (long long)start_us, promised ? "promised one" : "promised none");
        if (!promised)
            continue;
        uint32_t count = 0;
        const struct adl_reservation *all = adl_forecast_reservations(forecast, &count);
        assert_int_equal(count, naive.promise_count + 1);
        check_promise(&naive, slot, &all[count - 1], seed);
        naive.promises[naive.promise_count++] = all[count - 1];
        for (uint32_t i = 0; i < count && spares; i++)
            check_spare(&naive, &all[i], seed);
    }
    adl_forecast_destroy(forecast);
    adl_state_destroy(state);
    adl_cluster_clear(&cluster);
    return naive.promise_count;
}

static void one_promise_is_the_earliest_start_there_can_be(void **state)
{
    (void)state;
    uint32_t promises = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++)
        promises += check_state(seed, "one promise", false, 1, true);
    assert_true(promises > 2000);
}

static void each_of_several_promises_is_the_earliest_that_delays_no_earlier_one(void **state)
{
    (void)state;
    uint32_t promises = 0;
    for (uint64_t seed = 1; seed <= 1500; seed++)
        promises += check_state(seed, "several promises", false, WAITING, false);
    assert_true(promises > 5000);
}

static void a_promise_spares_what_is_free_at_its_start_beside_all_promises(void **state)
{
    (void)state;
    uint32_t promises = 0;
    for (uint64_t seed = 1; seed <= 1500; seed++)
        promises += check_state(seed, "spares", false, WAITING, true);
    assert_true(promises > 5000);
}

static void a_promise_sees_cores_and_memory_that_jobs_on_other_types_of_the_node_give_back(void **state)
{
    (void)state;
    uint32_t promises = 0;
    for (uint64_t seed = 1; seed <= 1500; seed++)
        promises += check_state(seed, "mixed nodes", true, WAITING, true);
    assert_true(promises > 5000);
}

/* GPUs of the type that are free at a time, over all its banks. */
static int32_t type_room_at(const struct naive *naive, uint32_t type, int64_t time_us)
{
    int32_t gpus = 0;
    for (uint32_t bank = 0; bank < naive->state->cluster->bank_count; bank++)
        if (naive->state->cluster->banks[bank].type == type)
            gpus += room_at(naive, bank, time_us).gpus;
    return gpus;
}

static void a_promise_to_a_job_that_spans_counts_the_gpus_of_all_nodes(void **state)
{
    (void)state;
    struct adl_rng rng;
    uint32_t promises = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct adl_forecast *forecast = NULL;
        adl_rng_seed(&rng, seed, "spanning");
        struct adl_cluster cluster = random_cluster(&rng, false);
        struct adl_state *it = random_state(&cluster, &rng);
        const struct naive naive = {.state = it};
        const uint32_t slot = RUNNING_MAX + WAITING;
        struct adl_job_spec spec = fixture_spec(slot, (uint16_t)fixture_between(&rng, 2, 9));
        spec.flags = ADL_JOB_SPAN;
        admit(it, slot, &spec, &rng);
        int64_t times[TIMES_MAX], expected_us = INT64_MAX;
        const uint32_t count = times_of(&naive, times);
        for (uint32_t i = 0; i < count && expected_us == INT64_MAX; i++)
            for (uint32_t t = 0; t < cluster.type_count; t++)
                if ((it->jobs[slot].eligible >> t & 1) && type_room_at(&naive, t, times[i]) >= spec.gpus)
                    expected_us = times[i];
        assert_int_equal(adl_forecast_create(&cluster, 1, &forecast), 0);
        const bool promised = adl_forecast_reserve(forecast, it, slot);
        assert_int_equal(promised, expected_us != INT64_MAX);
        if (promised) {
            uint32_t made = 0;
            const struct adl_reservation *r = adl_forecast_reservations(forecast, &made);
            assert_int_equal(r->start_us, expected_us);
            assert_int_equal(r->bank, ADL_NONE);
            assert_int_equal(r->spare, type_room_at(&naive, r->type, r->start_us) - spec.gpus);
            promises++;
        }
        adl_forecast_destroy(forecast);
        adl_state_destroy(it);
        adl_cluster_clear(&cluster);
    }
    assert_true(promises > 500);
}

/* One node of four GPUs, busy until 10: a spanning job and another of four GPUs cannot both have them then.
 */
static void promises_to_spanning_and_other_jobs_do_not_overlap(void **state)
{
    (void)state;
    struct adl_cluster cluster = fixture_plain(4);
    for (int spanning_first = 0; spanning_first < 2; spanning_first++) {
        struct adl_state *it = fixture_state(&cluster);
        struct adl_forecast *forecast = NULL;
        struct adl_job_spec spec = fixture_spec(1, 4);
        uint32_t count = 0;
        fixture_run(it, 0, &spec, 10, 0);
        spec.flags = spanning_first ? ADL_JOB_SPAN : 0;
        fixture_queue(it, 1, &spec, 5, 0);
        spec.flags = spanning_first ? 0 : ADL_JOB_SPAN;
        fixture_queue(it, 2, &spec, 5, 0);
        assert_int_equal(adl_forecast_create(&cluster, 2, &forecast), 0);
        assert_true(adl_forecast_reserve(forecast, it, 1));
        assert_true(adl_forecast_reserve(forecast, it, 2));
        const struct adl_reservation *r = adl_forecast_reservations(forecast, &count);
        assert_int_equal(r[0].start_us, 10);
        assert_int_equal(r[1].start_us, 15);
        adl_forecast_destroy(forecast);
        adl_state_destroy(it);
    }
    adl_cluster_clear(&cluster);
}

/* At each promised start, what is promised on the type from then on is there. */
static void check_total(const struct naive *naive, const struct adl_reservation *all, uint32_t count, uint64_t seed)
{
    for (uint32_t i = 0; i < count; i++) {
        const int64_t time_us = all[i].start_us;
        int32_t promised = 0;
        for (uint32_t j = 0; j < count; j++)
            promised += all[j].type == all[i].type && all[j].start_us <= time_us && time_us < all[j].end_us
                            ? (int32_t)all[j].gpus
                            : 0;
        if (promised > type_room_at(naive, all[i].type, time_us))
            fail_msg("seed %llu: %d GPUs of type %u are promised at %lld and %d are free", (unsigned long long)seed,
                     promised, all[i].type, (long long)time_us, type_room_at(naive, all[i].type, time_us));
    }
}

static void no_more_gpus_of_a_type_are_promised_than_are_free(void **state)
{
    (void)state;
    struct adl_rng rng;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct adl_forecast *forecast = NULL;
        adl_rng_seed(&rng, seed, "total");
        struct adl_cluster cluster = random_cluster(&rng, false);
        struct adl_state *it = random_state(&cluster, &rng);
        const struct naive naive = {.state = it};
        uint32_t count = 0;
        assert_int_equal(adl_forecast_create(&cluster, WAITING, &forecast), 0);
        for (uint32_t slot = RUNNING_MAX; slot < RUNNING_MAX + WAITING; slot++) {
            if (adl_rng_below(&rng, 2))
                it->jobs[slot].spec.flags |= ADL_JOB_SPAN;
            adl_forecast_reserve(forecast, it, slot);
        }
        const struct adl_reservation *all = adl_forecast_reservations(forecast, &count);
        check_total(&naive, all, count, seed);
        adl_forecast_destroy(forecast);
        adl_state_destroy(it);
        adl_cluster_clear(&cluster);
    }
}

static void no_more_promises_are_made_than_there_is_room_for(void **state)
{
    (void)state;
    struct adl_cluster cluster = fixture_plain(1);
    struct adl_state *it = fixture_state(&cluster);
    struct adl_forecast *forecast = NULL;
    const struct adl_job_spec spec = fixture_spec(1, 1);
    uint32_t count = 0;
    fixture_run(it, 0, &spec, 10, 0);
    for (uint32_t slot = 1; slot < 4; slot++)
        fixture_queue(it, slot, &spec, 10, slot);
    assert_int_equal(adl_forecast_create(&cluster, 2, &forecast), 0);
    assert_true(adl_forecast_reserve(forecast, it, 1));
    assert_true(adl_forecast_reserve(forecast, it, 2));
    assert_false(adl_forecast_reserve(forecast, it, 3));
    const struct adl_reservation *r = adl_forecast_reservations(forecast, &count);
    assert_int_equal(count, 2);
    assert_int_equal(r[0].start_us, 10);
    assert_int_equal(r[1].start_us, 20);
    adl_forecast_clear(forecast);
    adl_forecast_reservations(forecast, &count);
    assert_int_equal(count, 0);
    assert_true(adl_forecast_reserve(forecast, it, 3));
    adl_forecast_destroy(forecast);
    adl_forecast_destroy(NULL);
    adl_state_destroy(it);
    adl_cluster_clear(&cluster);
}

static void a_job_that_can_never_start_is_promised_nothing(void **state)
{
    (void)state;
    struct adl_cluster cluster = fixture_plain(4);
    struct adl_state *it = fixture_state(&cluster);
    struct adl_forecast *forecast = NULL;
    struct adl_job_spec spec = fixture_spec(1, 3);
    fixture_run(it, 0, &spec, 10, 0);
    adl_state_gpu_down(it, 3);
    spec.gpus = 4;
    fixture_queue(it, 1, &spec, 10, 0);
    assert_int_equal(adl_forecast_create(&cluster, 2, &forecast), 0);
    assert_false(adl_forecast_reserve(forecast, it, 1));
    adl_forecast_destroy(forecast);
    adl_state_destroy(it);
    adl_cluster_clear(&cluster);
}

static void a_promise_taken_back_leaves_its_place_to_others(void **state)
{
    (void)state;
    static const uint16_t gpus[] = {4, 2, 2, 4};
    struct adl_cluster cluster = fixture_plain(4);
    struct adl_state *it = fixture_state(&cluster);
    struct adl_forecast *forecast = NULL;
    uint32_t count = 0;
    assert_int_equal(adl_forecast_create(&cluster, 4, &forecast), 0);
    const struct adl_job_spec all = fixture_spec(9, 4);
    fixture_run(it, 0, &all, 100, 0);
    for (uint32_t i = 0; i < 4; i++) {
        const struct adl_job_spec spec = fixture_spec(i, gpus[i]);
        fixture_queue(it, i + 1, &spec, 10, i);
    }
    for (uint32_t slot = 1; slot <= 4; slot++)
        assert_true(adl_forecast_reserve(forecast, it, slot));
    const struct adl_reservation *promises = adl_forecast_reservations(forecast, &count);
    assert_int_equal(promises[0].start_us, 100);
    assert_int_equal(promises[1].start_us, 110);
    assert_int_equal(promises[3].start_us, 120);
    adl_forecast_remove(forecast, 3);
    adl_forecast_remove(forecast, 0);
    promises = adl_forecast_reservations(forecast, &count);
    assert_int_equal(count, 2);
    assert_int_equal(promises[0].job, 2);
    assert_int_equal(promises[1].job, 3);
    assert_int_equal(promises[1].start_us, 110);
    assert_true(adl_forecast_reserve(forecast, it, 4));
    assert_true(adl_forecast_reserve(forecast, it, 1));
    promises = adl_forecast_reservations(forecast, &count);
    assert_int_equal(promises[2].start_us, 100);
    assert_int_equal(promises[3].start_us, 120);
    adl_forecast_destroy(forecast);
    adl_state_destroy(it);
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_promise_is_the_earliest_start_there_can_be),
        cmocka_unit_test(each_of_several_promises_is_the_earliest_that_delays_no_earlier_one),
        cmocka_unit_test(a_promise_spares_what_is_free_at_its_start_beside_all_promises),
        cmocka_unit_test(a_promise_sees_cores_and_memory_that_jobs_on_other_types_of_the_node_give_back),
        cmocka_unit_test(a_promise_to_a_job_that_spans_counts_the_gpus_of_all_nodes),
        cmocka_unit_test(promises_to_spanning_and_other_jobs_do_not_overlap),
        cmocka_unit_test(no_more_gpus_of_a_type_are_promised_than_are_free),
        cmocka_unit_test(no_more_promises_are_made_than_there_is_room_for),
        cmocka_unit_test(a_job_that_can_never_start_is_promised_nothing),
        cmocka_unit_test(a_promise_taken_back_leaves_its_place_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
