#include "solve/packing.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POWER_UNITS 0x1p20 /* in a watt */
#define POWER_W_MAX 0x1p40 /* higher caps count as none */

int adl_packing_init(struct adl_packing *self, uint32_t groups, uint32_t pools, uint32_t offers)
{
    const size_t g = (size_t)groups + 1, p = (size_t)pools + 1, o = (size_t)offers + 1;
    *self = (struct adl_packing){.groups_max = groups, .pools_max = pools, .offers_max = offers};
    self->times = calloc(o, sizeof *self->times);
    self->saving = calloc(o, sizeof *self->saving);
    self->power = calloc(o, sizeof *self->power);
    self->waiting = calloc(g, sizeof *self->waiting);
    self->gpus = calloc(p, sizeof *self->gpus);
    self->order = calloc(o, sizeof *self->order);
    self->group_begin = calloc(g + 1, sizeof *self->group_begin);
    self->group_offers = calloc(2 * o, sizeof *self->group_offers);
    self->pool_begin = calloc(p + 1, sizeof *self->pool_begin);
    self->pool_offers = calloc(o, sizeof *self->pool_offers);
    self->group_taken = calloc(2 * o, sizeof *self->group_taken);
    self->group_taken_count = calloc(g, sizeof *self->group_taken_count);
    self->pool_taken = calloc(o, sizeof *self->pool_taken);
    self->pool_taken_count = calloc(p, sizeof *self->pool_taken_count);
    self->taken_place = calloc(3 * o, sizeof *self->taken_place);
    self->keys = calloc(o, sizeof *self->keys);
    self->keys_other = calloc(o, sizeof *self->keys_other);
    if (self->times && self->saving && self->power && self->waiting && self->gpus && self->order && self->group_begin &&
        self->group_offers && self->pool_begin && self->pool_offers && self->group_taken && self->group_taken_count &&
        self->pool_taken && self->pool_taken_count && self->taken_place && self->keys && self->keys_other)
        return 0;
    adl_packing_clear(self);
    return ADL_ENOMEM;
}

void adl_packing_clear(struct adl_packing *self)
{
    free(self->times);
    free(self->saving);
    free(self->power);
    free(self->waiting);
    free(self->gpus);
    free(self->order);
    free(self->group_begin);
    free(self->group_offers);
    free(self->pool_begin);
    free(self->pool_offers);
    free(self->group_taken);
    free(self->group_taken_count);
    free(self->pool_taken);
    free(self->pool_taken_count);
    free(self->taken_place);
    free(self->keys);
    free(self->keys_other);
    *self = (struct adl_packing){0};
}

/* ---- a problem ---- */

static bool has_cap(const struct adl_allotment_problem *problem)
{
    return problem->power_cap_w < POWER_W_MAX;
}

/* The saving of an offer; 0 if it does not even fit alone. */
static double saving_of(const struct adl_allotment_problem *problem, const struct adl_offer *offer)
{
    const uint32_t a = offer->group[0], b = offer->group[1];
    double saving = problem->wait_cost[a] - offer->cost;
    if (b != ADL_NONE)
        saving += problem->wait_cost[b];
    const bool fits =
        offer->gpus <= problem->pool_gpus[offer->pool] && problem->group_jobs[a] >= adl_offer_jobs(offer, a) &&
        (b == ADL_NONE || problem->group_jobs[b] > 0) && (!has_cap(problem) || offer->power_w <= problem->power_cap_w);
    return fits && saving > 0 ? saving : 0;
}

/* A sort key for descending numbers, ties by index. */
static uint64_t key_of(double number, uint32_t offer)
{
    const float rough = (float)number;
    uint32_t bits;
    memcpy(&bits, &rough, sizeof bits);
    return (uint64_t)(bits >> 31 ? bits : bits ^ 0x7fffffff) << 32 | offer;
}

/* Radix sort by the upper halves, stable: three passes of 11 bits. */
static void sort(uint64_t *keys, uint64_t *other, uint32_t count)
{
    for (int shift = 32; shift < 64; shift += 11) {
        uint32_t begin[2049] = {0};
        for (uint32_t i = 0; i < count; i++)
            begin[1 + (keys[i] >> shift & 2047)]++;
        for (uint32_t i = 0; i < 2048; i++)
            begin[i + 1] += begin[i];
        for (uint32_t i = 0; i < count; i++)
            other[begin[keys[i] >> shift & 2047]++] = keys[i];
        uint64_t *kept = keys;
        keys = other;
        other = kept;
    }
    /* After an odd number of passes the result is in the second buffer; the caller reads the first, now `other`. */
    memcpy(other, keys, count * sizeof *keys);
}

/* The sections of groups and pools, filled in order. */
static void section(struct adl_packing *self)
{
    const struct adl_allotment_problem *problem = self->problem;
    memset(self->group_begin, 0, ((size_t)problem->group_count + 2) * sizeof *self->group_begin);
    memset(self->pool_begin, 0, ((size_t)problem->pool_count + 2) * sizeof *self->pool_begin);
    /* Counts are stored two entries further, so that filling leaves each beginning where it belongs. */
    for (uint32_t i = 0; i < self->order_count; i++) {
        const struct adl_offer *offer = &problem->offers[self->order[i]];
        self->pool_begin[offer->pool + 2]++;
        self->group_begin[offer->group[0] + 2]++;
        if (adl_offer_is_pair(offer) && offer->group[1] != offer->group[0])
            self->group_begin[offer->group[1] + 2]++;
    }
    for (uint32_t p = 0; p < problem->pool_count; p++)
        self->pool_begin[p + 2] += self->pool_begin[p + 1];
    for (uint32_t g = 0; g < problem->group_count; g++)
        self->group_begin[g + 2] += self->group_begin[g + 1];
    for (uint32_t i = 0; i < self->order_count; i++) {
        const uint32_t o = self->order[i];
        const struct adl_offer *offer = &problem->offers[o];
        self->pool_offers[self->pool_begin[offer->pool + 1]++] = o;
        self->group_offers[self->group_begin[offer->group[0] + 1]++] = o;
        if (adl_offer_is_pair(offer) && offer->group[1] != offer->group[0])
            self->group_offers[self->group_begin[offer->group[1] + 1]++] = o;
    }
}

void adl_packing_order(struct adl_packing *self, const double *score)
{
    for (uint32_t i = 0; i < self->order_count; i++)
        self->keys[i] = key_of(score[self->order[i]], self->order[i]);
    sort(self->keys, self->keys_other, self->order_count);
    for (uint32_t i = 0; i < self->order_count; i++)
        self->order[i] = (uint32_t)self->keys[i];
    section(self);
}

void adl_packing_begin(struct adl_packing *self, const struct adl_allotment_problem *problem)
{
    assert(problem->group_count <= self->groups_max && problem->pool_count <= self->pools_max &&
           problem->offer_count <= self->offers_max);
    self->problem = problem;
    self->power_cap = has_cap(problem) ? (int64_t)floor(problem->power_cap_w * POWER_UNITS) : INT64_MAX;
    self->order_count = 0;
    for (uint32_t o = 0; o < problem->offer_count; o++) {
        const struct adl_offer *offer = &problem->offers[o];
        self->saving[o] = saving_of(problem, offer);
        self->power[o] = has_cap(problem) && self->saving[o] > 0 ? (int64_t)ceil(offer->power_w * POWER_UNITS) : 0;
        if (self->saving[o] > 0)
            self->order[self->order_count++] = o;
    }
    section(self);
    adl_packing_empty(self);
}

void adl_packing_empty(struct adl_packing *self)
{
    const struct adl_allotment_problem *problem = self->problem;
    memset(self->times, 0, problem->offer_count * sizeof *self->times);
    self->waiting_jobs = 0;
    for (uint32_t g = 0; g < problem->group_count; g++) {
        self->waiting_jobs += problem->group_jobs[g];
        self->waiting[g] = problem->group_jobs[g];
        self->group_taken_count[g] = 0;
    }
    for (uint32_t p = 0; p < problem->pool_count; p++) {
        self->gpus[p] = problem->pool_gpus[p];
        self->pool_taken_count[p] = 0;
    }
    self->power_left = self->power_cap;
    self->saved = 0;
    adl_packing_keep(self);
}

/* ---- offers taken ---- */

static void list(uint32_t *section, uint32_t *count, uint32_t *place, uint32_t offer)
{
    *place = *count;
    section[(*count)++] = offer;
}

/* Moves the last entry of the list to this place and returns it. */
static uint32_t unlist(uint32_t *section, uint32_t *count, uint32_t place)
{
    const uint32_t last = section[--*count];
    section[place] = last;
    return last;
}

/* Where an offer's place in the list of a group is stored. */
static uint32_t *place_in_group(struct adl_packing *self, uint32_t offer, uint32_t group)
{
    const bool second = self->problem->offers[offer].group[0] != group;
    return &self->taken_place[3 * (size_t)offer + second];
}

static void list_taken(struct adl_packing *self, uint32_t o)
{
    const struct adl_offer *offer = &self->problem->offers[o];
    const uint32_t p = offer->pool;
    for (int i = 0; i < 2; i++) {
        const uint32_t g = offer->group[i];
        if (i == 0 || (g != ADL_NONE && g != offer->group[0]))
            list(&self->group_taken[self->group_begin[g]], &self->group_taken_count[g], place_in_group(self, o, g), o);
    }
    list(&self->pool_taken[self->pool_begin[p]], &self->pool_taken_count[p], &self->taken_place[3 * (size_t)o + 2], o);
}

static void unlist_taken(struct adl_packing *self, uint32_t o)
{
    const struct adl_offer *offer = &self->problem->offers[o];
    const uint32_t p = offer->pool;
    for (int i = 0; i < 2; i++) {
        const uint32_t g = offer->group[i];
        if (i == 1 && (g == ADL_NONE || g == offer->group[0]))
            continue;
        const uint32_t place = *place_in_group(self, o, g);
        const uint32_t moved = unlist(&self->group_taken[self->group_begin[g]], &self->group_taken_count[g], place);
        *place_in_group(self, moved, g) = place;
    }
    const uint32_t place = self->taken_place[3 * (size_t)o + 2];
    const uint32_t moved = unlist(&self->pool_taken[self->pool_begin[p]], &self->pool_taken_count[p], place);
    self->taken_place[3 * (size_t)moved + 2] = place;
}

static void apply(struct adl_packing *self, uint32_t o, int32_t times)
{
    const struct adl_offer *offer = &self->problem->offers[o];
    const uint32_t before = self->times[o], more = (uint32_t)times;
    self->times[o] += more; /* unsigned arithmetic also subtracts */
    self->waiting[offer->group[0]] -= more;
    if (adl_offer_is_pair(offer))
        self->waiting[offer->group[1]] -= more;
    self->waiting_jobs -= adl_offer_is_pair(offer) ? 2 * more : more;
    self->gpus[offer->pool] -= more * offer->gpus;
    self->power_left -= times * self->power[o];
    self->saved += times * self->saving[o];
    if (before == 0 && self->times[o] > 0)
        list_taken(self, o);
    if (before > 0 && self->times[o] == 0)
        unlist_taken(self, o);
}

static uint32_t least_of(uint32_t a, uint64_t b)
{
    return b < a ? (uint32_t)b : a;
}

/* How many times an offer fits into these jobs of its groups, GPUs and power. */
static uint32_t fitting(const struct adl_packing *self, uint32_t o, const uint32_t *jobs, const uint32_t *gpus,
                        int64_t power, uint32_t most)
{
    const struct adl_offer *offer = &self->problem->offers[o];
    const uint32_t a = offer->group[0], b = offer->group[1];
    uint32_t room = least_of(most, a == b ? jobs[a] / 2 : jobs[a]);
    if (b != ADL_NONE)
        room = least_of(room, jobs[b]);
    if (offer->gpus > 0)
        room = least_of(room, gpus[offer->pool] / offer->gpus);
    if (self->power[o] > 0)
        room = least_of(room, (uint64_t)(power / self->power[o]));
    return room;
}

uint32_t adl_packing_room(const struct adl_packing *self, uint32_t o, uint32_t most)
{
    return fitting(self, o, self->waiting, self->gpus, self->power_left, most);
}

uint32_t adl_packing_most(const struct adl_packing *self, uint32_t o)
{
    const struct adl_allotment_problem *problem = self->problem;
    return fitting(self, o, problem->group_jobs, problem->pool_gpus, self->power_cap, INT32_MAX);
}

void adl_packing_apply(struct adl_packing *self, const uint32_t *times)
{
    for (uint32_t i = 0; i < self->order_count; i++) {
        const uint32_t o = self->order[i];
        if (times[o] == 0)
            continue;
        const uint32_t room = adl_packing_room(self, o, times[o]);
        if (room > 0)
            apply(self, o, (int32_t)room);
    }
    adl_packing_keep(self);
}

void adl_packing_fill(struct adl_packing *self)
{
    for (uint32_t i = 0; i < self->order_count; i++) {
        const uint32_t o = self->order[i];
        if (adl_packing_fits(self, o))
            apply(self, o, (int32_t)adl_packing_room(self, o, INT32_MAX));
    }
    adl_packing_keep(self);
}

bool adl_packing_change(struct adl_packing *self, uint32_t offer, int32_t times)
{
    if (self->change_count == ADL_PACKING_CHANGES_MAX)
        return false;
    self->changes[self->change_count++] = (struct adl_packing_change){.offer = offer, .times = times};
    apply(self, offer, times);
    return true;
}

void adl_packing_keep(struct adl_packing *self)
{
    self->change_count = 0;
    self->saved_kept = self->saved;
}

void adl_packing_undo(struct adl_packing *self)
{
    while (self->change_count > 0) {
        const struct adl_packing_change change = self->changes[--self->change_count];
        apply(self, change.offer, -change.times);
    }
    self->saved = self->saved_kept; /* sums and differences would drift */
}

double adl_packing_cost(const struct adl_packing *self)
{
    const struct adl_allotment_problem *problem = self->problem;
    double cost = 0;
    for (uint32_t g = 0; g < problem->group_count; g++)
        cost += self->waiting[g] > 0 ? self->waiting[g] * problem->wait_cost[g] : 0;
    for (uint32_t o = 0; o < problem->offer_count; o++)
        cost += self->times[o] > 0 ? self->times[o] * problem->offers[o].cost : 0;
    return cost;
}
