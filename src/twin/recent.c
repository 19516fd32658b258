#include "twin/recent.h"

#include "base/copy.h"
#include "base/real.h"
#include "predict/packing.h"
#include "twin/age_ratios.h"
#include "twin/user_likeness.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_US        (INT64_C(3600) * 1000000)
#define WEEK_HOURS     168
#define WEEKS_KNOWN    6 /* weeks in which an hour was seen before its day of the week counts: fewer say little */
#define LAST_HOURS     2 /* that count beside the same hour of other days */
#define UNSEEN         (ADL_NONE - 1) /* the slot of a job of an earlier engine that no engine has named since */
#define LIKE_EVERY     64             /* ends from one look at how alike the jobs of users are to the next */
#define ALIKE          0.0625         /* of the typical run time: waits below that are much alike */
#define ALIKE_FIRST_US 60e6           /* until that is known */
#define MAGIC          "adlrecnt"
#define VERSION        3
#define SEAL_SIZE      8

struct hour {
    int64_t number; /* since time 0 */
    uint64_t first; /* its first submission */
    uint32_t count;
    bool cut; /* nobody looked for a part of it */
};

struct adl_recent {
    const struct adl_cluster *cluster;
    struct adl_recent_job *jobs; /* a ring, by number of the submission */
    uint64_t submitted;
    uint32_t unseen;    /* submissions whose slot is UNSEEN */
    uint64_t seen_last; /* number of the last one that was seen again */
    bool resumed;       /* nobody looked at the hours after the last one */
    struct hour *hours; /* a ring, as many as have begun */
    uint64_t hour_count;
    uint64_t *of_slot; /* [slot] number of the submission + 1; 0 = none */
    size_t slot_capacity;
    int64_t *down_us; /* [gpu] since when it is down; INT64_MIN = it is up */
    int64_t began_us, last_us;
    double down_gpu_us, repair_us;
    uint64_t failures, repairs;
    uint64_t ended;
    double likeness;
    double typical_us, longest_us; /* run time of those that have ended; 0 = not known */
    struct adl_age_ratios ages;
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

/* After a pause: the hour in which it began and the one in which it ended are not whole. They may be the same, and the
 * clock of a twin may be earlier in it than before. */
static int64_t resume_hours(struct adl_recent *recent, int64_t next, int64_t now)
{
    recent->resumed = false;
    if (recent->hour_count == 0)
        return next;
    recent->hours[(recent->hour_count - 1) % ADL_RECENT_HOURS].cut = true;
    if (next > now)
        return next;
    recent->hours[recent->hour_count++ % ADL_RECENT_HOURS] =
        (struct hour){.number = now, .first = recent->submitted, .cut = true};
    return now + 1;
}

static void begin_hours(struct adl_recent *recent, int64_t time_us)
{
    const int64_t now = time_us / HOUR_US;
    int64_t next = recent->hour_count ? recent->hours[(recent->hour_count - 1) % ADL_RECENT_HOURS].number + 1 : now;
    if (recent->resumed)
        next = resume_hours(recent, next, now);
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

/* The number of a submission of an earlier engine that no engine has named since; 0 = there is none of this job. */
static uint64_t find_unseen(const struct adl_recent *recent, uint64_t id)
{
    const uint64_t kept = recent->submitted < ADL_RECENT_JOBS ? recent->submitted : ADL_RECENT_JOBS;
    for (uint64_t i = 0; recent->unseen > 0 && i < kept; i++) {
        const struct adl_recent_job *job = &recent->jobs[(recent->submitted - 1 - i) % ADL_RECENT_JOBS];
        if (job->slot == UNSEEN && job->spec.id == id)
            return recent->submitted - i;
    }
    return 0;
}

/* A job of an earlier engine, or another alternative of it, is in this slot now. */
static bool see_again(struct adl_recent *recent, const struct adl_event *event)
{
    const uint64_t id = event->submit.spec->id;
    const uint64_t number = is_of(recent, recent->seen_last, id) ? recent->seen_last : find_unseen(recent, id);
    if (number == 0)
        return false;
    struct adl_recent_job *job = &recent->jobs[(number - 1) % ADL_RECENT_JOBS];
    recent->unseen -= job->slot == UNSEEN;
    job->slot = job->slot == UNSEEN ? event->job : job->slot;
    job->slots++;
    recent->of_slot[event->job] = recent->seen_last = number;
    return true;
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
    if (see_again(recent, event))
        return 0;
    if (event->submit.since_us > 0 && event->submit.since_us / HOUR_US < event->time_us / HOUR_US)
        return 0;
    struct adl_recent_job *job = &recent->jobs[recent->submitted % ADL_RECENT_JOBS];
    recent->unseen -= recent->submitted >= ADL_RECENT_JOBS && job->slot == UNSEEN;
    *job = (struct adl_recent_job){
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
    job->rank = (float)adl_belief_rank(state->belief, event->job, job->work_us);
}

/* How alike the jobs of users are, and how long jobs run: the longest, and the geometric mean, because run times span
 * decades. */
static void look(struct adl_recent *recent)
{
    struct adl_user_likeness likeness = {.pairs = 0};
    double sum = 0, longest_us = 0;
    uint64_t count = 0;
    const uint64_t kept = recent->submitted < ADL_RECENT_JOBS ? recent->submitted : ADL_RECENT_JOBS;
    for (uint64_t number = recent->submitted - kept; number < recent->submitted; number++) {
        const struct adl_recent_job *job = &recent->jobs[number % ADL_RECENT_JOBS];
        if (job->rank <= 0)
            continue;
        adl_user_likeness_add(&likeness, job->spec.user, job->rank);
        sum += adl_log(job->work_us);
        longest_us = job->work_us > longest_us ? job->work_us : longest_us;
        count++;
    }
    recent->likeness = adl_user_likeness_share(&likeness);
    recent->longest_us = longest_us;
    recent->typical_us = count ? adl_exp(sum / (double)count) : 0;
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
    if (job->rank > 0)
        adl_age_ratios_learn(&recent->ages, state->belief, event->job, job->work_us, recent->longest_us);
    if (++recent->ended % LIKE_EVERY == 0)
        look(recent);
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

double adl_recent_likeness(const struct adl_recent *recent)
{
    return recent->likeness;
}

double adl_recent_left_us(const struct adl_recent *recent, const struct adl_belief *belief, uint32_t slot,
                          double done_us, double rank)
{
    return recent ? adl_age_ratios_left_us(&recent->ages, belief, slot, done_us, recent->longest_us, rank)
                  : adl_belief_quantile_us(belief, slot, done_us, rank);
}

double adl_recent_alike_us(const struct adl_recent *recent)
{
    return recent && recent->typical_us > 0 ? ALIKE * recent->typical_us : ALIKE_FIRST_US;
}

static uint64_t first_hour(const struct adl_recent *recent)
{
    return recent->hour_count > ADL_RECENT_HOURS ? recent->hour_count - ADL_RECENT_HOURS : 0;
}

/* The submissions of an hour are still remembered. The hour that has not passed yet is not complete. */
static bool is_whole(const struct adl_recent *recent, uint64_t at)
{
    const struct hour *hour = &recent->hours[at % ADL_RECENT_HOURS];
    return at + 1 < recent->hour_count && !hour->cut && recent->submitted - hour->first <= ADL_RECENT_JOBS;
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

/* ---- bytes ---- */

static void encode_spec(const struct adl_job_spec *spec, struct adl_text *ret)
{
    const float reals[] = {spec->priority, spec->share_slowdown, spec->min_steps_per_s, spec->step_gflop,
                           spec->step_gb};
    adl_bytes_put_u64(ret, spec->id);
    adl_bytes_put_u32(ret, spec->user);
    adl_bytes_put_u32(ret, spec->name_id);
    adl_bytes_put_u32(ret, spec->class_index);
    adl_bytes_put_u32(ret, spec->gpus);
    adl_bytes_put_u32(ret, spec->types);
    adl_text_char(ret, (char)spec->kind);
    adl_text_char(ret, (char)spec->flags);
    adl_text_char(ret, (char)spec->stop_loss);
    adl_bytes_put_u32(ret, (uint32_t)spec->cpu_cores);
    adl_bytes_put_u32(ret, (uint32_t)spec->memory_mib);
    adl_bytes_put_u32(ret, (uint32_t)spec->gpu_memory_mib);
    adl_bytes_put_floats(ret, reals, sizeof reals / sizeof *reals);
    adl_bytes_put_u64(ret, (uint64_t)spec->limit_us);
    adl_bytes_put_u64(ret, (uint64_t)spec->deadline_us);
    adl_bytes_put_u64(ret, (uint64_t)spec->checkpoint_us);
}

static void decode_spec(struct adl_unpack *from, struct adl_job_spec *ret)
{
    ret->id = adl_unpack_u64(from);
    ret->user = adl_unpack_u32(from, UINT32_MAX);
    ret->name_id = adl_unpack_u32(from, UINT32_MAX);
    ret->class_index = (uint16_t)adl_unpack_u32(from, UINT16_MAX);
    ret->gpus = (uint16_t)adl_unpack_u32(from, UINT16_MAX);
    ret->types = adl_unpack_u32(from, UINT32_MAX);
    ret->kind = adl_unpack_u8(from);
    ret->flags = adl_unpack_u8(from);
    ret->stop_loss = adl_unpack_u8(from);
    ret->cpu_cores = (int32_t)adl_unpack_u32(from, INT32_MAX);
    ret->memory_mib = (int32_t)adl_unpack_u32(from, INT32_MAX);
    ret->gpu_memory_mib = (int32_t)adl_unpack_u32(from, INT32_MAX);
    ret->priority = adl_unpack_float(from, 1);
    ret->share_slowdown = adl_unpack_float(from, 1e30f);
    ret->min_steps_per_s = adl_unpack_float(from, 1e30f);
    ret->step_gflop = adl_unpack_float(from, 1e30f);
    ret->step_gb = adl_unpack_float(from, 1e30f);
    ret->limit_us = (int64_t)adl_unpack_u64(from);
    ret->deadline_us = (int64_t)adl_unpack_u64(from);
    ret->checkpoint_us = (int64_t)adl_unpack_u64(from);
    from->failed |= ret->gpus == 0 || ret->limit_us < 0 || ret->deadline_us < 0 || ret->checkpoint_us < 0;
}

static void encode_job(const struct adl_recent_job *job, uint32_t types, struct adl_text *ret)
{
    encode_spec(&job->spec, ret);
    adl_bytes_put_u64(ret, (uint64_t)job->submit_us);
    adl_pack_real(ret, job->work_us);
    adl_text_char(ret, job->slot == ADL_NONE); /* it has ended */
    adl_bytes_put_floats(ret, &job->rank, 1);
    adl_bytes_put_floats(ret, job->here, types);
    adl_bytes_put_floats(ret, job->across, types);
}

static void decode_job(struct adl_unpack *from, uint32_t types, struct adl_recent_job *ret)
{
    *ret = (struct adl_recent_job){.slot = UNSEEN};
    decode_spec(from, &ret->spec);
    ret->submit_us = (int64_t)adl_unpack_u64(from);
    ret->work_us = adl_unpack_real(from, 0, 1e18);
    ret->slot = adl_unpack_u8(from) ? ADL_NONE : UNSEEN;
    ret->rank = adl_unpack_float(from, 1);
    for (uint32_t t = 0; t < types; t++)
        ret->here[t] = adl_unpack_float(from, 1e30f);
    for (uint32_t t = 0; t < types; t++)
        ret->across[t] = adl_unpack_float(from, 1e30f);
}

static void encode_cluster(const struct adl_cluster *cluster, struct adl_text *ret)
{
    adl_bytes_put_u32(ret, cluster->type_count);
    for (uint32_t t = 0; t < cluster->type_count; t++)
        adl_pack_name(ret, cluster->types[t].name);
}

static bool is_same_cluster(const struct adl_cluster *cluster, struct adl_unpack *from)
{
    bool same = adl_unpack_u32(from, ADL_TYPES_MAX) == cluster->type_count;
    for (uint32_t t = 0; same && t < cluster->type_count; t++) {
        char name[256];
        adl_unpack_name(from, name, sizeof name);
        same = strcmp(name, cluster->types[t].name) == 0;
    }
    return same;
}

static uint64_t count_down(const struct adl_recent *recent)
{
    uint64_t count = 0;
    for (uint32_t g = 0; g < recent->cluster->gpu_count; g++)
        count += recent->down_us[g] != INT64_MIN;
    return count;
}

void adl_recent_encode(const struct adl_recent *recent, int64_t wall_ahead_us, struct adl_text *ret)
{
    const size_t begin = ret->size;
    const uint64_t first = first_hour(recent);
    const uint64_t jobs = recent->submitted < ADL_RECENT_JOBS ? recent->submitted : ADL_RECENT_JOBS;
    adl_text_put(ret, MAGIC);
    adl_bytes_put_u32(ret, VERSION);
    encode_cluster(recent->cluster, ret);
    adl_bytes_put_u64(ret, (uint64_t)wall_ahead_us);
    adl_bytes_put_u64(ret, recent->submitted);
    for (uint64_t number = recent->submitted - jobs; number < recent->submitted; number++)
        encode_job(&recent->jobs[number % ADL_RECENT_JOBS], recent->cluster->type_count, ret);
    adl_bytes_put_u32(ret, (uint32_t)(recent->hour_count - first));
    for (uint64_t at = first; at < recent->hour_count; at++) {
        const struct hour *hour = &recent->hours[at % ADL_RECENT_HOURS];
        adl_bytes_put_u64(ret, (uint64_t)hour->number);
        adl_bytes_put_u64(ret, hour->first);
        adl_bytes_put_u32(ret, hour->count);
        adl_text_char(ret, hour->cut);
    }
    adl_bytes_put_u64(ret, (uint64_t)(recent->began_us == INT64_MIN ? 0 : recent->last_us - recent->began_us));
    adl_pack_real(ret, recent->repair_us);
    adl_bytes_put_u64(ret, recent->failures - count_down(recent)); /* those come again if they are still down */
    adl_bytes_put_u64(ret, recent->repairs);
    for (int i = 0; i < ADL_AGE_RATIOS; i++) {
        adl_pack_real(ret, recent->ages.ended[i]);
        adl_pack_real(ret, recent->ages.expected[i]);
    }
    if (adl_text_status(ret) == 0)
        adl_bytes_put_u64(ret, adl_bytes_checksum(ret->data + begin, ret->size - begin));
}

static void decode_hours(struct adl_unpack *from, struct adl_recent *recent, int64_t shift)
{
    int64_t last = INT64_MIN;
    recent->hour_count = adl_unpack_u32(from, ADL_RECENT_HOURS);
    for (uint64_t at = 0; at < recent->hour_count && !from->failed; at++) {
        struct hour *hour = &recent->hours[at];
        hour->number = (int64_t)adl_unpack_u64(from);
        hour->first = adl_unpack_u64(from);
        hour->count = adl_unpack_u32(from, UINT32_MAX);
        hour->cut = adl_unpack_u8(from) != 0;
        from->failed |= hour->number <= last || hour->number > INT64_MAX / HOUR_US || hour->first > recent->submitted ||
                        hour->count > recent->submitted - hour->first;
        last = hour->number;
        hour->number += shift;
    }
}

static void decode_body(struct adl_unpack *from, struct adl_recent *recent, int64_t wall_ahead_us, int64_t now_us)
{
    const int64_t by_us = (int64_t)(adl_unpack_u64(from) - (uint64_t)wall_ahead_us);
    const int64_t shift = (by_us + (by_us < 0 ? -HOUR_US : HOUR_US) / 2) / HOUR_US;
    recent->submitted = adl_unpack_u64(from);
    from->failed |=
        recent->submitted > UINT64_MAX / 2 || shift > INT64_MAX / HOUR_US / 2 || shift < -(INT64_MAX / HOUR_US / 2);
    const uint64_t jobs = recent->submitted < ADL_RECENT_JOBS ? recent->submitted : ADL_RECENT_JOBS;
    for (uint64_t number = recent->submitted - jobs; number < recent->submitted && !from->failed; number++) {
        struct adl_recent_job *job = &recent->jobs[number % ADL_RECENT_JOBS];
        decode_job(from, recent->cluster->type_count, job);
        job->submit_us = (int64_t)((uint64_t)job->submit_us + (uint64_t)(shift * HOUR_US));
        recent->unseen += job->slot == UNSEEN;
    }
    decode_hours(from, recent, shift);
    const uint64_t watched_us = adl_unpack_u64(from);
    recent->repair_us = adl_unpack_real(from, 0, 1e18);
    recent->failures = adl_unpack_u64(from);
    recent->repairs = adl_unpack_u64(from);
    for (int i = 0; i < ADL_AGE_RATIOS; i++) {
        recent->ages.ended[i] = adl_unpack_real(from, 0, 1e18);
        recent->ages.expected[i] = adl_unpack_real(from, 0, 1e18);
    }
    from->failed |= from->at != from->end || watched_us > INT64_MAX / 4;
    recent->last_us = now_us;
    recent->began_us = now_us - (int64_t)(from->failed ? 0 : watched_us);
    recent->resumed = true;
    if (!from->failed)
        look(recent);
}

int adl_recent_decode(struct adl_recent *recent, const void *bytes, size_t size, int64_t wall_ahead_us, int64_t now_us,
                      struct adl_error *err)
{
    const unsigned char *at = bytes;
    const size_t head = strlen(MAGIC) + 4;
    if (size < head + SEAL_SIZE || memcmp(at, MAGIC, strlen(MAGIC)) != 0)
        return adl_fail(err, ADL_EINVAL, "these are not recent submissions");
    if (adl_bytes_u32(at + strlen(MAGIC)) != VERSION)
        return adl_fail(err, ADL_EINVAL, "recent submissions of version %" PRIu32 "; this program reads version %d",
                        adl_bytes_u32(at + strlen(MAGIC)), VERSION);
    if (adl_bytes_checksum(at, size - SEAL_SIZE) != adl_bytes_u64(at + size - SEAL_SIZE))
        return adl_fail(err, ADL_EINVAL, "the checksum of recent submissions is wrong: bytes were changed");
    struct adl_unpack from = {.at = at + head, .end = at + size - SEAL_SIZE};
    if (!is_same_cluster(recent->cluster, &from))
        return adl_fail(err, ADL_EINVAL, "recent submissions are of a cluster with other GPU types");
    struct adl_recent *read = NULL;
    if (adl_recent_create(recent->cluster, &read))
        return adl_fail(err, ADL_ENOMEM, "out of memory for recent submissions");
    decode_body(&from, read, wall_ahead_us, now_us);
    int status = 0;
    if (from.failed)
        status = adl_fail(err, ADL_EINVAL, "recent submissions are not whole: something is missing or out of bounds");
    if (status == 0 && adl_recent_copy(recent, read))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for recent submissions");
    adl_recent_destroy(read);
    return status;
}
