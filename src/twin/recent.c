#include "twin/recent.h"

#include "base/copy.h"

#include <stdlib.h>

#define HOUR_US     (INT64_C(3600) * 1000000)
#define WEEK_HOURS  168
#define WEEKS_KNOWN 3 /* weeks in which an hour was seen before its day of the week counts */
#define LAST_HOURS  2 /* that count beside the same hour of other days */

struct hour {
    int64_t number; /* since time 0 */
    uint64_t first; /* its first submission */
    uint32_t count;
};

struct adl_recent {
    const struct adl_cluster *cluster;
    struct adl_recent_job *jobs; /* a ring, by number of the submission */
    uint64_t submitted;
    struct hour *hours; /* a ring, as many as have begun */
    uint64_t hour_count;
    uint64_t *of_slot; /* [slot] number of the submission + 1; 0 = none */
    size_t slot_capacity;
    int64_t *down_us; /* [gpu] since when it is down; INT64_MIN = it is up */
    int64_t began_us, last_us;
    double down_gpu_us, repair_us;
    uint64_t failures, repairs;
};

int adl_recent_create(const struct adl_cluster *cluster, struct adl_recent **ret)
{
    struct adl_recent *recent = calloc(1, sizeof *recent);
    if (!recent)
        return ADL_ENOMEM;
    recent->cluster = cluster;
    recent->jobs = calloc(ADL_RECENT_JOBS, sizeof *recent->jobs);
    recent->hours = calloc(ADL_RECENT_HOURS, sizeof *recent->hours);
    recent->down_us = calloc((size_t)cluster->gpu_count + 1, sizeof *recent->down_us);
    recent->began_us = INT64_MIN;
    if (!recent->jobs || !recent->hours || !recent->down_us) {
        adl_recent_destroy(recent);
        return ADL_ENOMEM;
    }
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        recent->down_us[g] = INT64_MIN;
    *ret = recent;
    return 0;
}

void adl_recent_destroy(struct adl_recent *recent)
{
    if (!recent)
        return;
    free(recent->jobs);
    free(recent->hours);
    free(recent->of_slot);
    free(recent->down_us);
    free(recent);
}

int adl_recent_copy(struct adl_recent *to, const struct adl_recent *from)
{
    if (adl_grow((void **)&to->of_slot, &to->slot_capacity, from->slot_capacity, sizeof *to->of_slot))
        return ADL_ENOMEM;
    const uint64_t jobs = from->submitted < ADL_RECENT_JOBS ? from->submitted : ADL_RECENT_JOBS;
    const uint64_t hours = from->hour_count < ADL_RECENT_HOURS ? from->hour_count : ADL_RECENT_HOURS;
    const struct adl_recent own = *to;
    *to = *from;
    to->slot_capacity = own.slot_capacity;
    ADL_COPY_ARRAY(to, own, from, jobs, jobs);
    ADL_COPY_ARRAY(to, own, from, hours, hours);
    ADL_COPY_ARRAY(to, own, from, of_slot, from->slot_capacity);
    ADL_COPY_ARRAY(to, own, from, down_us, from->cluster->gpu_count);
    for (size_t i = from->slot_capacity; i < to->slot_capacity; i++)
        to->of_slot[i] = 0;
    return 0;
}

/* ---- what is seen ---- */

static void begin_hours(struct adl_recent *recent, int64_t time_us)
{
    const int64_t now = time_us / HOUR_US;
    int64_t next = recent->hour_count ? recent->hours[(recent->hour_count - 1) % ADL_RECENT_HOURS].number + 1 : now;
    next = now - next > ADL_RECENT_HOURS ? now - ADL_RECENT_HOURS : next;
    for (; next <= now; next++)
        recent->hours[recent->hour_count++ % ADL_RECENT_HOURS] =
            (struct hour){.number = next, .first = recent->submitted};
}

/* The submission with this number is a live one of this job. */
static bool is_of(const struct adl_recent *recent, uint64_t number, uint64_t id)
{
    const struct adl_recent_job *job = number ? &recent->jobs[(number - 1) % ADL_RECENT_JOBS] : NULL;
    return job && recent->submitted - number < ADL_RECENT_JOBS && job->slot != ADL_NONE && job->spec.id == id;
}

static int submit(struct adl_recent *recent, const struct adl_event *event)
{
    const size_t known = recent->slot_capacity;
    if (adl_grow((void **)&recent->of_slot, &recent->slot_capacity, (size_t)event->job + 1, sizeof *recent->of_slot))
        return ADL_ENOMEM;
    for (size_t i = known; i < recent->slot_capacity; i++)
        recent->of_slot[i] = 0;
    if (is_of(recent, recent->of_slot[event->job], event->submit.spec->id)) /* another engine has it now */
        return 0;
    recent->of_slot[event->job] = 0;
    if (is_of(recent, recent->submitted, event->submit.spec->id)) { /* another alternative of the same job */
        recent->of_slot[event->job] = recent->submitted;
        recent->jobs[(recent->submitted - 1) % ADL_RECENT_JOBS].slots++;
        return 0;
    }
    if (event->submit.since_us > 0 && event->submit.since_us / HOUR_US < event->time_us / HOUR_US)
        return 0;
    recent->jobs[recent->submitted % ADL_RECENT_JOBS] = (struct adl_recent_job){
        .spec = *event->submit.spec, .submit_us = event->time_us, .slot = event->job, .slots = 1};
    recent->of_slot[event->job] = ++recent->submitted;
    recent->hours[(recent->hour_count - 1) % ADL_RECENT_HOURS].count++;
    return 0;
}

void adl_recent_learn(struct adl_recent_job *job, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *live = &state->jobs[event->job];
    job->slot = ADL_NONE;
    for (uint32_t t = 0; t < state->cluster->type_count; t++) {
        job->here[t] = (float)adl_belief_type_factor(state->belief, state, event->job, t, false);
        job->across[t] = (float)adl_belief_type_factor(state->belief, state, event->job, t, true);
    }
    if (live->phase == ADL_PHASE_PENDING) { /* it left without a run, or without its last one */
        job->work_us = (double)live->attained_us + 1;
        return;
    }
    const double factor = (double)job->here[live->type];
    job->work_us = adl_belief_done_us(state->belief, state, event->job) +
                   (double)(event->time_us - state->now_us) / (factor > 0 ? factor : 1) + 1;
}

static void finish(struct adl_recent *recent, const struct adl_event *event, const struct adl_state *state)
{
    const uint64_t number = event->job < recent->slot_capacity ? recent->of_slot[event->job] : 0;
    if (number == 0)
        return;
    recent->of_slot[event->job] = 0;
    if (recent->submitted - number >= ADL_RECENT_JOBS)
        return;
    struct adl_recent_job *job = &recent->jobs[(number - 1) % ADL_RECENT_JOBS];
    const struct adl_job *live = &state->jobs[event->job];
    if (--job->slots > 0 && live->phase == ADL_PHASE_PENDING) { /* another alternative is left, or was taken */
        for (uint32_t slot = 0; slot < recent->slot_capacity && job->slot == event->job; slot++)
            job->slot = recent->of_slot[slot] == number ? slot : job->slot;
        return;
    }
    adl_recent_learn(job, event, state);
}

static void fail_or_repair(struct adl_recent *recent, const struct adl_event *event)
{
    int64_t *down_us = &recent->down_us[event->gpu];
    if (event->kind == ADL_EVENT_GPU_DOWN) {
        recent->failures++;
        *down_us = event->time_us;
    } else if (*down_us != INT64_MIN) {
        recent->repairs++;
        recent->repair_us += (double)(event->time_us - *down_us);
        *down_us = INT64_MIN;
    }
}

static int observe(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_recent *recent = self;
    if (recent->began_us == INT64_MIN)
        recent->began_us = event->time_us;
    recent->last_us = event->time_us;
    begin_hours(recent, event->time_us);
    if (event->kind == ADL_EVENT_SUBMIT)
        return submit(recent, event);
    if (event->kind == ADL_EVENT_FINISH && event->job < state->job_capacity &&
        state->jobs[event->job].phase != ADL_PHASE_NONE)
        finish(recent, event, state);
    else if ((event->kind == ADL_EVENT_GPU_DOWN || event->kind == ADL_EVENT_GPU_UP) &&
             event->gpu < recent->cluster->gpu_count)
        fail_or_repair(recent, event);
    return 0;
}

struct adl_observer adl_recent_observer(struct adl_recent *recent)
{
    return (struct adl_observer){.self = recent, .event = observe};
}

/* ---- what may follow ---- */

struct adl_faults adl_recent_faults(const struct adl_recent *recent)
{
    const double watched_us = (double)(recent->last_us - recent->began_us) * recent->cluster->gpu_count;
    struct adl_faults faults = {0};
    if (recent->repairs == 0)
        return faults;
    faults.gpu_mtbf_h = watched_us / (double)recent->failures / (double)HOUR_US;
    faults.gpu_repair_h = recent->repair_us / (double)recent->repairs / (double)HOUR_US;
    return faults;
}

static uint64_t first_hour(const struct adl_recent *recent)
{
    return recent->hour_count > ADL_RECENT_HOURS ? recent->hour_count - ADL_RECENT_HOURS : 0;
}

/* The submissions of an hour are still remembered. The hour that has not passed yet is not complete. */
static bool is_whole(const struct adl_recent *recent, uint64_t at)
{
    const struct hour *hour = &recent->hours[at % ADL_RECENT_HOURS];
    return at + 1 < recent->hour_count && recent->submitted - hour->first <= ADL_RECENT_JOBS;
}

enum likeness { ANY, LIKE_TODAY, LIKE_THE_WEEK };

static bool is_like(const struct adl_recent *recent, uint64_t at, int64_t number, enum likeness likeness)
{
    const int64_t apart = number - recent->hours[at % ADL_RECENT_HOURS].number;
    if (!is_whole(recent, at))
        return false;
    if (likeness == LIKE_THE_WEEK)
        return apart % WEEK_HOURS == 0;
    return likeness == ANY || apart % 24 == 0 || at + 1 + LAST_HOURS >= recent->hour_count;
}

static uint32_t count_like(const struct adl_recent *recent, int64_t number, enum likeness likeness)
{
    uint32_t count = 0;
    for (uint64_t at = first_hour(recent); at < recent->hour_count; at++)
        count += is_like(recent, at, number, likeness);
    return count;
}

uint32_t adl_recent_hour(const struct adl_recent *recent, int64_t time_us, double draw)
{
    const int64_t number = time_us / HOUR_US;
    enum likeness likeness = LIKE_THE_WEEK;
    uint32_t count = count_like(recent, number, likeness);
    if (count < WEEKS_KNOWN)
        count = count_like(recent, number, likeness = LIKE_TODAY);
    if (count == 0)
        count = count_like(recent, number, likeness = ANY);
    uint32_t left = (uint32_t)(draw * count);
    for (uint64_t at = first_hour(recent); at < recent->hour_count; at++)
        if (is_like(recent, at, number, likeness) && left-- == 0)
            return (uint32_t)(at % ADL_RECENT_HOURS);
    return ADL_NONE;
}

uint32_t adl_recent_jobs(const struct adl_recent *recent, uint32_t hour, uint64_t *ret_first, int64_t *ret_us)
{
    *ret_first = recent->hours[hour].first;
    *ret_us = recent->hours[hour].number * HOUR_US;
    return recent->hours[hour].count;
}

const struct adl_recent_job *adl_recent_job(const struct adl_recent *recent, uint64_t number)
{
    return &recent->jobs[number % ADL_RECENT_JOBS];
}
