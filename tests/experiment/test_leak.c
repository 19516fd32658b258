/* No policy sees what a real world could not tell: two worlds that differ in hidden truth alone (how long jobs run, how
 * fast they are where they did not run, who arrives later) get equal plans until something observable differs. */
#include "random_scenario.h"

#include "base/hash.h"
#include "experiment/run.h"
#include "sim/world_sim.h"

#define WORLDS        6 /* a regime and policy */
#define JOBS          32
#define JOBS_CHANGED  2 /* a world and change */
#define INSTANTS_MAX  20000
#define OF_STRUCT(it) &(it), sizeof(it)

/* How the second world differs from the first. */
enum { LONGER, OTHER_SPEEDS, OTHER_ARRIVALS, MORE_STEPS, CHANGES };

struct hidden {
    const struct adl_scenario *scenario;
    int change;   /* -1 = none */
    uint64_t job; /* the one that is changed, or the first that does not arrive */
    uint64_t given;
    struct adl_job_source inner;
};

static int next_job(void *self, struct adl_true_job *ret, struct adl_error *err)
{
    struct hidden *hidden = self;
    const int status = hidden->inner.next(hidden->inner.self, ret, err);
    if (status <= 0 || hidden->change < 0)
        return status;
    hidden->given++;
    if (hidden->change == OTHER_ARRIVALS)
        return hidden->given < hidden->job;
    if (hidden->change == MORE_STEPS) /* of half the size, of every second job */
        ret->steps *= hidden->given % 2 ? 2 : 1;
    if (hidden->change == MORE_STEPS || hidden->given != hidden->job)
        return status;
    /* Twice the work at the same speed; or the same work, at another speed on each type. */
    for (uint32_t t = 0; t < hidden->scenario->cluster.type_count; t++)
        ret->runtime_us[t] *= hidden->change == LONGER ? 2 : 2 + t % 3;
    ret->steps *= hidden->change == LONGER ? 2 : 1;
    ret->ideal_us *= 2;
    return status;
}

static void close_jobs(void *self)
{
    struct hidden *hidden = self;
    hidden->inner.close(hidden->inner.self);
}

static int open_jobs(void *self, uint64_t seed, struct adl_job_source *ret, struct adl_error *err)
{
    struct hidden *hidden = self;
    const struct adl_job_supply supply = adl_workload_supply(hidden->scenario);
    hidden->given = 0;
    *ret = (struct adl_job_source){.self = hidden, .next = next_job, .close = close_jobs};
    return supply.open(supply.self, seed, &hidden->inner, err);
}

/* What could be observed up to the end of each instant, and what was decided then. */
struct diary {
    uint64_t seen;
    size_t count;
    uint32_t evicted;           /* of the job that is changed */
    uint64_t job;               /* that one */
    uint32_t stopped[JOBS + 1]; /* [id] evictions */
    struct {
        uint64_t seen, plan;
        uint32_t evicted;
    } instants[INSTANTS_MAX];
};

static uint64_t hash_observable(uint64_t hash, const struct adl_event *event, const struct adl_state *state)
{
    hash = adl_hash_u64(hash, (uint64_t)event->time_us);
    hash = adl_hash_u64(hash, (uint64_t)event->kind << 32 | event->job);
    hash = adl_hash_u64(hash, event->gpu);
    switch (event->kind) {
    case ADL_EVENT_SUBMIT:
        return adl_hash_u64(hash, event->submit.spec->id);
    case ADL_EVENT_FINISH:
        hash = adl_hash_u64(hash, (uint64_t)event->outcome.run_us);
        if (state->jobs[event->job].reports)
            hash = adl_hash_bytes(hash, OF_STRUCT(event->outcome.steps));
        return adl_hash_u64(hash, event->outcome.end);
    case ADL_EVENT_EVICT:
        return adl_hash_u64(hash, event->evict.fault);
    case ADL_EVENT_PROGRESS:
        hash = adl_hash_bytes(hash, OF_STRUCT(event->steps_left));
        return adl_hash_bytes(hash, OF_STRUCT(event->steps_per_s));
    default:
        return hash;
    }
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct diary *diary = self;
    diary->seen = hash_observable(diary->seen, event, state);
    if (event->kind == ADL_EVENT_EVICT) {
        const uint64_t id = state->jobs[event->job].spec.id;
        diary->evicted += id == diary->job;
        diary->stopped[id]++;
    }
    return 0;
}

static int on_decided(void *self, uint64_t hash, const struct adl_state *state)
{
    (void)state;
    struct diary *diary = self;
    if (diary->count == INSTANTS_MAX)
        return 0;
    diary->instants[diary->count].seen = diary->seen;
    diary->instants[diary->count].evicted = diary->evicted;
    diary->instants[diary->count++].plan = hash;
    return 0;
}

static void run_world(const struct adl_scenario *s, uint64_t seed, const struct adl_policy_ops *policy, int regime,
                      struct hidden hidden, struct diary *ret)
{
    struct adl_error err = {.text = ""};
    struct adl_result result;
    const struct adl_job_supply supply = {&hidden, open_jobs};
    const struct adl_observer observer = {.self = ret, .event = on_event, .decided = on_decided};
    ret->seen = adl_hash_start();
    ret->count = 0;
    ret->evicted = 0;
    ret->job = hidden.job;
    memset(ret->stopped, 0, sizeof ret->stopped);
    hidden.scenario = s;
    const struct adl_run run = {
        .scenario = s, .policy = policy, .seed = seed, .regime = regime, .supply = &supply, .observer = &observer};
    if (adl_run(&run, &result, &err))
        fail_msg("%s: %s", policy->name, err.text);
}

/* Fails if plans differ before anything observable does. Returns how often the changed job was stopped until then. */
static uint32_t compare(const struct diary *a, const struct diary *b, const char *label)
{
    uint32_t evicted = 0;
    for (size_t i = 0; i < a->count && i < b->count && a->instants[i].seen == b->instants[i].seen; i++) {
        if (a->instants[i].plan != b->instants[i].plan)
            fail_msg("%s: decision %zu differs, and nothing that could be observed did", label, i);
        evicted = b->instants[i].evicted;
    }
    return evicted;
}

/* Many jobs wait, and stopping one costs little. */
static struct adl_scenario crowded(uint64_t seed)
{
    struct adl_scenario s = random_scenario(seed, JOBS);
    s.workload.arrivals.rate_per_h *= 3;
    s.preemption.checkpoint_s *= 0.1;
    s.preemption.restart_s *= 0.1;
    for (uint32_t m = 0; m < s.workload.mix_count; m++) {
        s.workload.mix[m].flags |= ADL_JOB_PREEMPTIBLE;
        s.workload.mix[m].sigma += 1;
    }
    return s;
}

/* The first job from this one on that is stopped in the first world, or this one if none is. */
static uint64_t choose_job(const struct diary *diary, uint64_t from)
{
    for (uint64_t i = 0; i < JOBS; i++) {
        const uint64_t id = (from + i) % JOBS + 1;
        if (diary->stopped[id] > 0)
            return id;
    }
    return from % JOBS + 1;
}

static uint32_t check_worlds(const struct adl_policy_ops *policy, int regime, struct diary *diaries)
{
    uint32_t evicted = 0;
    for (uint64_t w = 0; w < WORLDS; w++) {
        struct adl_scenario s = crowded(w);
        char label[200];
        run_world(&s, w, policy, regime, (struct hidden){.change = -1}, &diaries[0]);
        for (int i = 0; i < CHANGES * JOBS_CHANGED; i++) {
            const struct hidden hidden = {.change = i % CHANGES,
                                          .job = choose_job(&diaries[0], w * 7 + (uint64_t)i * 5)};
            run_world(&s, w, policy, regime, hidden, &diaries[1]);
            snprintf(label, sizeof label, "%s, regime %s, world %d, change %d of job %d", policy->name,
                     adl_regime_name(regime), (int)w, hidden.change, (int)hidden.job);
            evicted += compare(&diaries[0], &diaries[1], label);
        }
        adl_scenario_clear(&s);
    }
    return evicted;
}

static void no_plan_depends_on_what_nobody_could_have_seen(void **unused)
{
    (void)unused;
    struct diary *diaries = malloc(2 * sizeof *diaries);
    assert_non_null(diaries);
    static const int regimes[] = {ADL_REGIME_DECLARED, ADL_REGIME_LEARNED};
    uint32_t evicted = 0;
    for (uint32_t p = 0; p < adl_policy_count(); p++)
        for (int r = 0; r < 2; r++)
            evicted += check_worlds(adl_policy_at(p), regimes[r], diaries);
    print_message("%u stops of changed jobs\n", evicted);
    assert_true(evicted > 50); /* or too few jobs were stopped for this test to say anything about them */
    free(diaries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_depends_on_what_nobody_could_have_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
