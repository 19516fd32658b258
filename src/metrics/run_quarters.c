#include "metrics/run_quarters.h"

#include <stdlib.h>
#include <string.h>

#define BINS        2048
#define FIRST_SHIFT 14 /* bins of 16 ms: they cover half a minute before they grow */

enum { USEFUL, BUSY, ENERGY, SORTS };

/* One attempt of a job that has not ended. */
struct attempt {
    int64_t start_us, end_us;
    double share;  /* of the job's work done, minus what was lost or a preemption added */
    double weight; /* its part of the job's energy, by time and maximum draw of its GPUs */
    uint32_t next;
};

/* Changes of a rate at times t in a bin, and their integral up to the bin's end, the sum of change * (end - t). An
 * interval of any length is two changes. */
struct bin {
    double change; /* per us */
    double amount;
};

struct adl_run_quarters {
    struct bin bins[SORTS][BINS];
    uint32_t shift;              /* a bin is 1 << shift us wide */
    double busy_rate, idle_rate; /* in force at the last event */
    int64_t now_us;              /* of the last event */
    struct attempt *attempts;
    size_t attempt_capacity;
    uint32_t attempt_count, free_attempt;
    uint32_t *first; /* [slot] its attempts, latest first */
    size_t slot_capacity;
    int64_t last_end_us;
    double metered_j;
    bool metered;
};

int adl_run_quarters_create(struct adl_run_quarters **ret)
{
    struct adl_run_quarters *quarters = calloc(1, sizeof *quarters);
    if (!quarters)
        return ADL_ENOMEM;
    quarters->shift = FIRST_SHIFT;
    quarters->free_attempt = ADL_NONE;
    *ret = quarters;
    return 0;
}

void adl_run_quarters_destroy(struct adl_run_quarters *quarters)
{
    if (!quarters)
        return;
    free(quarters->attempts);
    free(quarters->first);
    free(quarters);
}

static void widen(struct adl_run_quarters *quarters)
{
    const double width_us = (double)(INT64_C(1) << quarters->shift);
    for (int sort = 0; sort < SORTS; sort++) {
        struct bin *bins = quarters->bins[sort];
        for (size_t i = 0; i < BINS / 2; i++) {
            const struct bin a = bins[2 * i], b = bins[2 * i + 1];
            bins[i] = (struct bin){a.change + b.change, a.amount + a.change * width_us + b.amount};
        }
        memset(&bins[BINS / 2], 0, BINS / 2 * sizeof *bins);
    }
    quarters->shift++;
}

static struct bin *bin_at(struct adl_run_quarters *quarters, int64_t time_us, int sort)
{
    while (time_us >> quarters->shift >= BINS)
        widen(quarters);
    return &quarters->bins[sort][time_us >> quarters->shift];
}

static void change_rate(struct adl_run_quarters *quarters, int64_t time_us, int sort, double change)
{
    struct bin *bin = bin_at(quarters, time_us, sort);
    const int64_t width_us = INT64_C(1) << quarters->shift;
    bin->change += change;
    bin->amount += change * (double)(width_us - (time_us & (width_us - 1)));
}

/* Spreads an amount evenly over an interval. */
static void spread(struct adl_run_quarters *quarters, int64_t start_us, int64_t end_us, int sort, double amount)
{
    if (end_us <= start_us) {
        bin_at(quarters, start_us, sort)->amount += amount;
        return;
    }
    const double rate = amount / (double)(end_us - start_us);
    change_rate(quarters, start_us, sort, rate);
    change_rate(quarters, end_us, sort, -rate);
}

/* Sets the number of busy GPUs and the idle draw from this time on. */
static void set_rates(struct adl_run_quarters *quarters, int64_t time_us, double busy, double idle_w)
{
    const double busy_rate = busy * 1e-6, idle_rate = idle_w * 1e-6;
    const double more = busy_rate - quarters->busy_rate, more_idle = idle_rate - quarters->idle_rate;
    if (more > 0 || more < 0)
        change_rate(quarters, time_us, BUSY, more);
    if (more_idle > 0 || more_idle < 0)
        change_rate(quarters, time_us, ENERGY, more_idle);
    quarters->busy_rate = busy_rate;
    quarters->idle_rate = idle_rate;
}

/* The state did not change since the last event. */
static void count_time(struct adl_run_quarters *quarters, const struct adl_event *event, const struct adl_state *state)
{
    const struct adl_cluster *cluster = state->cluster;
    double idle_w = 0;
    if (event->time_us <= state->now_us)
        return;
    for (uint32_t t = 0; t < cluster->type_count; t++)
        idle_w += state->pool.free_gpus[t] * cluster->types[t].idle_w;
    set_rates(quarters, state->now_us, state->busy_gpus, idle_w);
    quarters->now_us = event->time_us;
}

static int make_room(struct adl_run_quarters *quarters, uint32_t slot)
{
    size_t slots = quarters->slot_capacity;
    if (slot >= slots) {
        if (adl_grow((void **)&quarters->first, &slots, (size_t)slot + 1, sizeof *quarters->first))
            return ADL_ENOMEM;
        for (; quarters->slot_capacity < slots; quarters->slot_capacity++)
            quarters->first[quarters->slot_capacity] = ADL_NONE;
    }
    if (quarters->free_attempt != ADL_NONE)
        return 0;
    return adl_grow((void **)&quarters->attempts, &quarters->attempt_capacity, (size_t)quarters->attempt_count + 1,
                    sizeof *quarters->attempts);
}

/* Ends an attempt, with the work that is left. */
static int add_attempt(struct adl_run_quarters *quarters, const struct adl_event *event, const struct adl_state *state,
                       double remaining)
{
    const struct adl_job *job = &state->jobs[event->job];
    const int64_t held_us = event->time_us - job->start_us;
    if (make_room(quarters, event->job))
        return ADL_ENOMEM;
    uint32_t at = quarters->free_attempt;
    if (at == ADL_NONE)
        at = quarters->attempt_count++;
    else
        quarters->free_attempt = quarters->attempts[at].next;
    quarters->attempts[at] = (struct attempt){.start_us = job->start_us,
                                              .end_us = event->time_us,
                                              .share = job->remaining - remaining,
                                              .weight = (double)held_us * state->cluster->types[job->type].max_w,
                                              .next = quarters->first[event->job]};
    quarters->first[event->job] = at;
    return 0;
}

/* Distributes the work and energy of a finished job over its attempts. */
static void settle_job(struct adl_run_quarters *quarters, const struct adl_event *event, const struct adl_job *job)
{
    const struct adl_outcome *outcome = &event->outcome;
    const bool completed = outcome->end == ADL_END_COMPLETED;
    const double ideal_gpu_s = completed ? (double)outcome->ideal_us * 1e-6 * job->spec.gpus : 0.0;
    double weight = 0;
    for (uint32_t i = quarters->first[event->job]; i != ADL_NONE; i = quarters->attempts[i].next)
        weight += quarters->attempts[i].weight;
    for (uint32_t i = quarters->first[event->job], next; i != ADL_NONE; i = next) {
        struct attempt *it = &quarters->attempts[i];
        spread(quarters, it->start_us, it->end_us, ENERGY, weight > 0 ? outcome->energy_j * it->weight / weight : 0.0);
        spread(quarters, it->start_us, it->end_us, USEFUL, ideal_gpu_s * it->share);
        next = it->next;
        it->next = quarters->free_attempt;
        quarters->free_attempt = i;
    }
    quarters->first[event->job] = ADL_NONE;
}

static int on_event(void *self, const struct adl_event *event, const struct adl_state *state)
{
    struct adl_run_quarters *quarters = self;
    count_time(quarters, event, state);
    if (event->kind == ADL_EVENT_METER) {
        quarters->metered_j += event->energy_j;
        quarters->metered = true;
    }
    if (event->kind != ADL_EVENT_FINISH && event->kind != ADL_EVENT_EVICT)
        return 0;
    const struct adl_job *job = &state->jobs[event->job];
    const bool ends = event->kind == ADL_EVENT_FINISH;
    if (job->phase >= ADL_PHASE_RUNNING && add_attempt(quarters, event, state, ends ? 0.0 : event->evict.remaining))
        return ADL_ENOMEM;
    if (ends) {
        quarters->last_end_us = event->time_us;
        if (event->job < quarters->slot_capacity)
            settle_job(quarters, event, job);
    }
    return 0;
}

struct adl_observer adl_run_quarters_observer(struct adl_run_quarters *quarters)
{
    return (struct adl_observer){.self = quarters, .event = on_event};
}

/* The part of a bin that lies in a quarter; the last quarter takes the rest. */
static double part_of(const struct adl_run_quarters *quarters, uint32_t bin, int quarter)
{
    const double length_us = (double)quarters->last_end_us / ADL_RUN_QUARTERS;
    const double width_us = (double)(INT64_C(1) << quarters->shift), start_us = width_us * bin;
    const double from_us = length_us * quarter > start_us ? length_us * quarter : start_us;
    const double to_us = length_us * (quarter + 1) < start_us + width_us && quarter + 1 < ADL_RUN_QUARTERS
                             ? length_us * (quarter + 1)
                             : start_us + width_us;
    return to_us > from_us ? (to_us - from_us) / width_us : 0.0;
}

/* The amount of one sort in each quarter. */
static void add_up(const struct adl_run_quarters *quarters, int sort, double ret[ADL_RUN_QUARTERS])
{
    const double width_us = (double)(INT64_C(1) << quarters->shift);
    double rate = 0;
    for (int q = 0; q < ADL_RUN_QUARTERS; q++)
        ret[q] = 0;
    for (uint32_t i = 0; i < BINS && (int64_t)i << quarters->shift <= quarters->now_us; i++) {
        const struct bin *bin = &quarters->bins[sort][i];
        for (int q = 0; q < ADL_RUN_QUARTERS; q++)
            ret[q] += (rate * width_us + bin->amount) * part_of(quarters, i, q);
        rate += bin->change;
    }
}

void adl_run_quarters_result(struct adl_run_quarters *quarters, struct adl_run_quarter ret[ADL_RUN_QUARTERS])
{
    double sums[SORTS][ADL_RUN_QUARTERS], known_j = 0;
    set_rates(quarters, quarters->now_us, 0, 0);
    for (int sort = 0; sort < SORTS; sort++)
        add_up(quarters, sort, sums[sort]);
    for (int q = 0; q < ADL_RUN_QUARTERS; q++)
        known_j += sums[ENERGY][q];
    const double rest_j = quarters->metered ? (quarters->metered_j - known_j) / ADL_RUN_QUARTERS : 0;
    for (int q = 0; q < ADL_RUN_QUARTERS; q++)
        ret[q] = (struct adl_run_quarter){sums[USEFUL][q], sums[BUSY][q], sums[ENERGY][q] + rest_j};
}

const char *adl_run_quarter_figure_name(int figure)
{
    return figure == ADL_RUN_QUARTER_ENERGY ? "energy_j_per_useful_gpu_s" : "allocation_efficiency";
}

double adl_run_quarter_figure(const struct adl_run_quarter *quarter, int figure)
{
    if (figure == ADL_RUN_QUARTER_ENERGY)
        return quarter->useful_gpu_s > 0 ? quarter->energy_j / quarter->useful_gpu_s : 0.0;
    return quarter->busy_gpu_s > 0 ? quarter->useful_gpu_s / quarter->busy_gpu_s : 0.0;
}
