#include "predict/drift/drift.h"

#include "base/copy.h"
#include "base/hash.h"
#include "base/real.h"
#include "predict/drift/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_90  1.645
#define HOT_MEMORY 8   /* readings */
#define USUAL      256 /* readings */
#define ENOUGH     16  /* samples of speeds after which they, not the clock, decide */

static const double first_noise[ADL_DRIFT_SOURCES] = {0.03, 0.05, 0.03};

void adl_drift_reset(struct adl_drift *drift)
{
    const uint32_t gpus = drift->cluster->gpu_count;
    memset(drift->shared_us, 0, gpus * sizeof *drift->shared_us);
    memset(drift->losses, 0, gpus * sizeof *drift->losses);
    memset(drift->hot, 0, gpus * sizeof *drift->hot);
    memset(drift->reasons, 0, gpus * sizeof *drift->reasons);
    memset(drift->usual, 0, sizeof drift->usual);
    memset(drift->versions, 0, gpus * sizeof *drift->versions);
    memset(drift->behind, 0, gpus * sizeof *drift->behind);
    memset(drift->newest, 0, sizeof drift->newest);
    memset(drift->types, 0, sizeof drift->types);
    for (int c = 0; c < ADL_DRIFT_CHANNELS; c++) {
        adl_drift_cells_reset(&drift->cells[c]);
        for (uint32_t g = 0; g < gpus; g++)
            adl_drift_track_begin(&drift->tracks[c][g]);
    }
    for (int s = 0; s < ADL_DRIFT_SOURCES; s++)
        drift->noise[s] = first_noise[s];
    drift->first_user = 0;
    drift->users = drift->sampled = false;
}

int adl_drift_create(const struct adl_cluster *cluster, uint32_t sources, struct adl_drift **ret)
{
    struct adl_drift *drift = calloc(1, sizeof *drift);
    if (!drift)
        return ADL_ENOMEM;
    drift->cluster = cluster;
    drift->sources = sources;
    drift->shared_us = calloc((size_t)cluster->gpu_count + 1, sizeof *drift->shared_us);
    drift->losses = calloc((size_t)cluster->gpu_count + 1, sizeof *drift->losses);
    drift->hot = calloc((size_t)cluster->gpu_count + 1, sizeof *drift->hot);
    drift->reasons = calloc((size_t)cluster->gpu_count + 1, sizeof *drift->reasons);
    drift->versions = calloc((size_t)cluster->gpu_count + 1, sizeof *drift->versions);
    drift->behind = calloc((size_t)cluster->gpu_count + 1, sizeof *drift->behind);
    bool whole = drift->shared_us && drift->losses && drift->hot && drift->reasons && drift->versions && drift->behind;
    for (int c = 0; c < ADL_DRIFT_CHANNELS; c++) {
        drift->tracks[c] = calloc((size_t)cluster->gpu_count + 1, sizeof *drift->tracks[c]);
        whole = whole && drift->tracks[c] && adl_drift_cells_create(&drift->cells[c]) == 0;
    }
    if (!whole) {
        adl_drift_destroy(drift);
        return ADL_ENOMEM;
    }
    adl_drift_reset(drift);
    *ret = drift;
    return 0;
}

void adl_drift_destroy(struct adl_drift *drift)
{
    if (!drift)
        return;
    for (int c = 0; c < ADL_DRIFT_CHANNELS; c++) {
        adl_drift_cells_clear(&drift->cells[c]);
        free(drift->tracks[c]);
    }
    free(drift->shared_us);
    free(drift->losses);
    free(drift->hot);
    free(drift->reasons);
    free(drift->versions);
    free(drift->behind);
    free(drift);
}

void adl_drift_exchange(struct adl_drift *drift, struct adl_drift *other)
{
    const struct adl_drift mine = *drift;
    *drift = *other;
    *other = mine;
}

void adl_drift_copy(struct adl_drift *to, const struct adl_drift *from)
{
    const struct adl_drift own = *to;
    const uint32_t gpus = from->cluster->gpu_count;
    *to = *from;
    for (int c = 0; c < ADL_DRIFT_CHANNELS; c++) {
        to->cells[c] = own.cells[c];
        adl_drift_cells_copy(&to->cells[c], &from->cells[c]);
        ADL_COPY_ARRAY(to, own, from, tracks[c], gpus);
    }
    ADL_COPY_ARRAY(to, own, from, shared_us, gpus);
    ADL_COPY_ARRAY(to, own, from, losses, gpus);
    ADL_COPY_ARRAY(to, own, from, hot, gpus);
    ADL_COPY_ARRAY(to, own, from, reasons, gpus);
    ADL_COPY_ARRAY(to, own, from, versions, gpus);
    ADL_COPY_ARRAY(to, own, from, behind, gpus);
}

/* ---- events ---- */

static uint64_t kind_of(const struct adl_job_spec *spec)
{
    return (uint64_t)spec->class_index << 32 | spec->name_id;
}

/* Of a gang across nodes, the slowest link within one, in MB/s: what the network costs is relative to it. */
static uint64_t link_of(const struct adl_state *state, uint32_t slot)
{
    const struct adl_cluster *cluster = state->cluster;
    double link_gbs = HUGE_VAL;
    if (state->jobs[slot].spec.gpus == 1 || !adl_state_spans_nodes(state, slot))
        return 0;
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        link_gbs = fmin(link_gbs, cluster->nodes[adl_gpu_node_of(cluster, gpu)].link_gbs);
    return 1 + (uint64_t)fmax(fmin(1e3 * link_gbs, 1e9), 0);
}

/* The kind of job, of its neighbour, and of its placement. */
static uint64_t key_of(const struct adl_state *state, uint32_t slot, uint32_t other)
{
    const struct adl_job *job = &state->jobs[slot];
    uint64_t key = adl_hash_u64(adl_hash_start(), kind_of(&job->spec));
    key = adl_hash_u64(key, (uint64_t)job->type << 32 | (uint64_t)job->spec.gpus);
    key = adl_hash_u64(key, link_of(state, slot));
    return adl_hash_u64(key, other == ADL_NONE ? UINT64_MAX : kind_of(&state->jobs[other].spec)) | 1;
}

/* Users are witnesses now: what two jobs of the only one have confirmed has to be confirmed again. */
static void forget_jobs(struct adl_drift *drift)
{
    for (uint32_t g = 0; g < drift->cluster->gpu_count; g++) {
        struct adl_drift_track *track = &drift->tracks[ADL_DRIFT_SPEEDS][g];
        track->witness = (struct adl_drift_witness){0};
        track->certain = track->certain && adl_drift_clock_agrees(drift, g);
    }
}

/* A witness is a user; if there is one only, a job. */
static uint64_t witness_of(struct adl_drift *drift, const struct adl_job_spec *spec)
{
    if (drift->first_user == 0)
        drift->first_user = spec->user + 1;
    if (!drift->users && drift->first_user != spec->user + 1) {
        drift->users = true;
        forget_jobs(drift);
    }
    return drift->users ? (uint64_t)spec->user + 1 : spec->id + 1;
}

/* Its speed has another reason: a power cap, or a gang some of whose GPUs it shares. */
static bool is_held_back(const struct adl_state *state, uint32_t slot)
{
    const bool gang = state->jobs[slot].spec.gpus > 1;
    for (uint32_t gpu = state->jobs[slot].first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        if (state->gpus[gpu].cap_w > 0 || (gang && state->gpus[gpu].job[1] != ADL_NONE))
            return true;
    return false;
}

/* Counts speeds since clocks fell. */
static void count_speed(struct adl_drift *drift, const struct adl_drift_sample *sample)
{
    drift->types[ADL_DRIFT_CLOCKS][sample->type].speeds++;
    for (uint32_t gpu = sample->gpu; gpu != ADL_NONE; gpu = adl_drift_next_gpu(sample, gpu)) {
        struct adl_drift_track *clock = &drift->tracks[ADL_DRIFT_CLOCKS][gpu];
        clock->speeds = adl_drift_track_flagged(clock) ? clock->speeds + 1 : 0;
    }
}

static bool take_speed(struct adl_drift *drift, const struct adl_state *state, uint32_t slot, int64_t time_us,
                       uint8_t source, double steps_per_s)
{
    const struct adl_job *job = &state->jobs[slot];
    if (!(steps_per_s > 0) || !isfinite(steps_per_s) || !(drift->sources >> source & 1) || is_held_back(state, slot))
        return false;
    const struct adl_drift_sample sample = {.state = state,
                                            .time_us = time_us,
                                            .key = key_of(state, slot, adl_state_neighbour(state, slot)),
                                            .job = job->spec.id,
                                            .witness = witness_of(drift, &job->spec),
                                            .value = adl_log(steps_per_s),
                                            .slot = slot,
                                            .gpu = job->first_gpu,
                                            .type = job->type,
                                            .channel = ADL_DRIFT_SPEEDS,
                                            .source = source};
    count_speed(drift, &sample);
    adl_drift_take(drift, &sample);
    return true;
}

/* Since it started, no other job was on its GPUs; its speed was not reported while it ran. */
static bool ran_alone(const struct adl_drift *drift, const struct adl_state *state, uint32_t slot)
{
    const struct adl_job *job = &state->jobs[slot];
    for (uint32_t gpu = job->first_gpu; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, slot, gpu))
        if (state->gpus[gpu].job[1] != ADL_NONE || drift->shared_us[gpu] > job->start_us)
            return false;
    return drift->tracks[ADL_DRIFT_SPEEDS][job->first_gpu].last_job != job->spec.id;
}

static bool take_end(struct adl_drift *drift, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    const struct adl_outcome *outcome = &event->outcome;
    if (job->attempts != 1 || outcome->run_us <= 0 || !(outcome->steps > 0) || !ran_alone(drift, state, event->job))
        return false;
    return take_speed(drift, state, event->job, event->time_us, ADL_DRIFT_FINISH,
                      outcome->steps / (double)outcome->run_us * 1e6);
}

/* What the driver says about the clock. Nothing, where all of the type say so most of the time. */
static void take_reason(struct adl_drift *drift, const struct adl_event *event, bool busy)
{
    const double share = (double)event->telemetry.value[ADL_READ_THROTTLED];
    const bool missing = event->telemetry.missing >> ADL_READ_THROTTLED & 1 || !(share >= 0) || !(share <= 1);
    double *usual = &drift->usual[adl_gpu_type_of(drift->cluster, event->gpu)];
    if (missing && event->telemetry.missing >> ADL_READ_CLOCK & 1)
        return;
    *usual += missing || !busy ? 0 : (share - *usual) / USUAL;
    drift->reasons[event->gpu] = missing || *usual > 0.75 ? ADL_DRIFT_SILENT
                                 : share >= 0.5           ? ADL_DRIFT_HELD
                                                          : ADL_DRIFT_FREE;
}

/* Boards at their power limit say so at any time: only low clocks ask for a reason. */
static void ask_reason(struct adl_drift *drift, const struct adl_event *event)
{
    const struct adl_drift_track *clock = &drift->tracks[ADL_DRIFT_CLOCKS][event->gpu];
    const double share = (double)event->telemetry.value[ADL_READ_THROTTLED];
    if (event->telemetry.missing >> ADL_READ_THROTTLED & 1 || !(share >= 0) || !(share <= 1) ||
        !(clock->slow || clock->below.sum > 0))
        return;
    drift->hot[event->gpu] += (share - drift->hot[event->gpu]) / HOT_MEMORY;
}

/* An idle GPU lowers its clock. */
static bool take_clock(struct adl_drift *drift, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_telemetry *telemetry = &event->telemetry;
    const struct adl_gpu_use *use = &state->gpus[event->gpu];
    const uint32_t needed = 1u << ADL_READ_CLOCK | 1u << ADL_READ_UTILIZATION;
    if (!(drift->sources >> ADL_DRIFT_CLOCK & 1))
        return false;
    take_reason(drift, event, use->job[0] != ADL_NONE);
    if (telemetry->missing & needed || use->job[0] == ADL_NONE || use->cap_w > 0 ||
        !(telemetry->value[ADL_READ_UTILIZATION] >= 0.1f) || !(telemetry->value[ADL_READ_CLOCK] > 0.01f) ||
        !(telemetry->value[ADL_READ_CLOCK] < 100))
        return false;
    const struct adl_job *job = &state->jobs[use->job[0]];
    const struct adl_drift_sample sample = {.state = state,
                                            .time_us = event->time_us,
                                            .key = key_of(state, use->job[0], use->job[1]),
                                            .all = adl_hash_u64(adl_hash_start(), job->type) | 1,
                                            .job = job->spec.id * drift->cluster->gpu_count + event->gpu,
                                            .value = adl_log((double)telemetry->value[ADL_READ_CLOCK]),
                                            .slot = use->job[0],
                                            .gpu = event->gpu,
                                            .type = job->type,
                                            .channel = ADL_DRIFT_CLOCKS,
                                            .source = ADL_DRIFT_CLOCK};
    adl_drift_take(drift, &sample);
    ask_reason(drift, event);
    return true;
}

/* A job leaves its GPUs: what it lost is the slowest's, and its neighbours have shared a GPU. */
static void count_loss(struct adl_drift *drift, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_job *job = &state->jobs[event->job];
    uint32_t slowest = job->first_gpu;
    struct adl_gpu_drift found;
    if (!drift->sampled && !(job->spec.flags & ADL_JOB_SHARE)) /* nothing to lose, and no neighbours */
        return;
    for (uint32_t gpu = slowest; gpu != ADL_NONE; gpu = adl_state_next_gpu(state, event->job, gpu)) {
        if (state->gpus[gpu].job[1] != ADL_NONE)
            drift->shared_us[gpu] = event->time_us;
        if (drift->sampled && adl_drift_gpu_factor(drift, gpu) < adl_drift_gpu_factor(drift, slowest))
            slowest = gpu;
    }
    if (!drift->sampled)
        return;
    adl_drift_gpu(drift, slowest, &found);
    if (found.kind == ADL_DRIFT_NONE)
        return;
    const int64_t from_us = found.since_us > job->start_us ? found.since_us : job->start_us;
    drift->losses[slowest].jobs++;
    drift->losses[slowest].lost_s += (1 - found.factor) * (double)(event->time_us - from_us) * 1e-6 * job->spec.gpus;
}

static uint64_t version_of(const struct adl_event *event)
{
    const size_t size = strnlen(event->version, sizeof event->version);
    return size ? adl_hash_bytes(adl_hash_start(), event->version, size) | 1 : 0;
}

bool adl_drift_observe(struct adl_drift *drift, const struct adl_event *event, const struct adl_state *state)
{
    if (event->kind == ADL_EVENT_PROGRESS)
        return take_speed(drift, state, event->job, event->time_us, ADL_DRIFT_PROGRESS, event->steps_per_s);
    if (event->kind == ADL_EVENT_TELEMETRY)
        return take_clock(drift, event, state);
    if (event->kind == ADL_EVENT_VERSION)
        return adl_drift_take_version(drift, event->gpu, version_of(event), event->time_us);
    if ((event->kind != ADL_EVENT_FINISH && event->kind != ADL_EVENT_EVICT) ||
        state->jobs[event->job].phase < ADL_PHASE_RUNNING)
        return false;
    const bool taken = event->kind == ADL_EVENT_FINISH && take_end(drift, event, state);
    count_loss(drift, event, state);
    return taken;
}

/* ---- answers ---- */

/* Speeds; the clock if they are well or there are none, or if it alone shows throttling, because jobs ended that had
 * both. NULL: nothing is wrong. */
static const struct adl_drift_track *decisive(const struct adl_drift *drift, uint32_t gpu)
{
    const struct adl_drift_track *speed = &drift->tracks[ADL_DRIFT_SPEEDS][gpu],
                                 *clock = &drift->tracks[ADL_DRIFT_CLOCKS][gpu];
    if (adl_drift_track_flagged(clock) && adl_drift_track_throttled(clock) && !adl_drift_track_throttled(speed))
        return clock;
    return adl_drift_track_flagged(speed) ? speed : adl_drift_track_flagged(clock) ? clock : NULL;
}

static double level_of(const struct adl_drift_track *track)
{
    return fmin(adl_drift_track_throttled(track) ? track->average : adl_exp(track->deviation), 1);
}

static const struct adl_drift_type_track *decisive_type(const struct adl_drift *drift, uint32_t type)
{
    const struct adl_drift_type_track *speed = &drift->types[ADL_DRIFT_SPEEDS][type],
                                      *clock = &drift->types[ADL_DRIFT_CLOCKS][type];
    return speed->changes > 0 || clock->speeds >= ENOUGH || (speed->announced && speed->count >= ADL_DRIFT_LIKELY)
               ? speed
               : clock;
}

/* Speed of GPUs of a type that still have the version before, relative to the others. */
static double behind_of(const struct adl_drift *drift, uint32_t type)
{
    const struct adl_drift_type_track *it = decisive_type(drift, type);
    return adl_drift_type_known(it) ? adl_exp(it->before - it->change) : 1;
}

/* A low clock is believed until enough speeds say that jobs do not suffer. */
double adl_drift_gpu_factor(const struct adl_drift *drift, uint32_t gpu)
{
    const struct adl_drift_track *track = decisive(drift, gpu);
    const bool clock = track == &drift->tracks[ADL_DRIFT_CLOCKS][gpu];
    const double own = !track || !track->certain || (clock && track->speeds >= ENOUGH) ? 1 : level_of(track);
    return drift->behind[gpu] ? own * behind_of(drift, adl_gpu_type_of(drift->cluster, gpu)) : own;
}

double adl_drift_type_factor(const struct adl_drift *drift, uint32_t type)
{
    const struct adl_drift_type_track *it = decisive_type(drift, type);
    return it->changes > 0 || it->announced ? adl_exp(adl_drift_type_known(it) ? it->change : it->before) : 1;
}

void adl_drift_gpu(const struct adl_drift *drift, uint32_t gpu, struct adl_gpu_drift *ret)
{
    const struct adl_drift_track *track = decisive(drift, gpu);
    *ret = (struct adl_gpu_drift){.factor = 1, .low = 1};
    if (!track)
        return;
    *ret = (struct adl_gpu_drift){
        .kind = adl_drift_track_throttled(track) || drift->hot[gpu] > 0.5 ? ADL_DRIFT_THROTTLED : ADL_DRIFT_SLOW,
        .confirmed = track->certain,
        .impartial = track->certain && (drift->users || track == &drift->tracks[ADL_DRIFT_CLOCKS][gpu] ||
                                        adl_drift_clock_agrees(drift, gpu)),
        .factor = level_of(track),
        .error = NORMAL_90 * sqrt(track->variance) * level_of(track),
        .low = fmin(adl_exp(track->low), 1),
        .since_us = track->since_us,
        .jobs = drift->losses[gpu].jobs,
        .lost_s = drift->losses[gpu].lost_s,
        .separable = drift->cluster->type_gpus[adl_gpu_type_of(drift->cluster, gpu)] > 1,
    };
}

void adl_drift_type(const struct adl_drift *drift, uint32_t type, struct adl_type_drift *ret)
{
    const struct adl_drift_type_track *it = decisive_type(drift, type);
    *ret = (struct adl_type_drift){.factor = adl_drift_type_factor(drift, type),
                                   .step = adl_exp(it->step),
                                   .error = NORMAL_90 * sqrt(it->variance),
                                   .since_us = it->since_us,
                                   .changes = it->changes};
}
