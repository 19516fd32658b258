/* A load on a store whose every effect can be checked afterwards, for tests that interrupt it.
 *
 * Step k writes a group (four jobs, an event for each, a sample), then changes the status of the group's first job,
 * then adds a job alone. What the store acknowledged is noted; what must be there follows from that. */
#ifndef STORE_LOAD_H
#define STORE_LOAD_H

#include "store_fixture.h"

enum { LOAD_GROUP = 4, LOAD_PARTS = 3, LOAD_STRIDE = 5, LOAD_LATER = 1 << 30 };

enum load_part { LOAD_JOBS, LOAD_CHANGE, LOAD_ALONE };

struct load {
    uint32_t step_count;
    bool *tried; /* [step * LOAD_PARTS + part] */
    bool *acknowledged;
    uint64_t *ids;  /* [step * LOAD_STRIDE + job], of acknowledged ones */
    uint8_t *found; /* [step * LOAD_STRIDE + job], by load_verify */
    uint8_t *events;
};

static inline struct load load_make(uint32_t step_count)
{
    struct load load = {.step_count = step_count,
                        .tried = calloc((size_t)step_count * LOAD_PARTS, 1),
                        .acknowledged = calloc((size_t)step_count * LOAD_PARTS, 1),
                        .ids = calloc((size_t)step_count * LOAD_STRIDE, sizeof(uint64_t)),
                        .found = calloc((size_t)step_count * LOAD_STRIDE, 1),
                        .events = calloc((size_t)step_count * LOAD_STRIDE, 1)};
    assert_true(load.tried && load.acknowledged && load.ids && load.found && load.events);
    return load;
}

static inline void load_clear(struct load *load)
{
    free(load->tried);
    free(load->acknowledged);
    free(load->ids);
    free(load->found);
    free(load->events);
}

static inline int load_add(struct adl_store *store, uint64_t number, bool event, uint64_t *ret_id,
                           struct adl_error *err)
{
    static struct made_job made;
    char payload[64];
    make_job(number, &made);
    int status = adl_store_job_add(store, &made.job, ret_id, err);
    if (status || !event)
        return status;
    snprintf(payload, sizeof payload, "{\"number\":%llu}", (unsigned long long)number);
    return adl_store_event_append(
        store, &(struct adl_store_event){.time_us = 1, .kind = "submit", .job = *ret_id, .payload = payload}, NULL,
        err);
}

/* Goes on after a failure, as a caller that does not know better would: the commit must fail then. */
static inline int load_group(struct adl_store *store, uint64_t first, uint64_t *ret_ids, struct adl_error *err)
{
    struct adl_error later;
    int status = adl_store_begin(store, err);
    if (status)
        return status;
    for (uint64_t i = 0; i < LOAD_GROUP; i++) {
        const int one = load_add(store, first + i, true, &ret_ids[i], status ? &later : err);
        status = status ? status : one;
    }
    const struct adl_store_sample sample = {.time_us = (int64_t)first, .gpu = "GPU-0"};
    const int sampled = adl_store_sample_append(store, &sample, status ? &later : err);
    status = status ? status : sampled;
    const int committed = adl_store_commit(store, status ? &later : err);
    if (status && !committed)
        fail_msg("a group was committed although a write of it failed: %s", err->text);
    return status ? status : committed;
}

/* One part of a step; 0 when it is acknowledged. */
static inline int load_part(struct adl_store *store, struct load *load, uint32_t step, int part, struct adl_error *err)
{
    static struct made_job later;
    const uint64_t first = (uint64_t)step * LOAD_STRIDE;
    uint64_t ids[LOAD_GROUP] = {0};
    int status = 0;
    if (part == LOAD_CHANGE && !load->acknowledged[step * LOAD_PARTS + LOAD_JOBS])
        return ADL_EREFUSED;
    load->tried[step * LOAD_PARTS + (uint32_t)part] = true;
    if (part == LOAD_JOBS) {
        status = load_group(store, first, ids, err);
    } else if (part == LOAD_CHANGE) {
        make_job(first + LOAD_LATER, &later);
        status = adl_store_job_update(store, load->ids[first], &later.job.status, err);
    } else {
        status = load_add(store, first + LOAD_GROUP, false, ids, err);
    }
    load->acknowledged[step * LOAD_PARTS + (uint32_t)part] = status == 0;
    for (uint64_t i = 0; status == 0 && i < (part == LOAD_JOBS ? LOAD_GROUP : part == LOAD_ALONE); i++)
        load->ids[first + i + (part == LOAD_ALONE ? LOAD_GROUP : 0)] = ids[i];
    return status;
}

/* ---- what is there afterwards ---- */

struct load_check {
    struct load *load;
    bool strict; /* what was not acknowledged is not there */
    uint64_t last;
};

static inline int load_see_job(void *context, const struct adl_store_job *job, struct adl_error *err)
{
    (void)err;
    struct load_check *check = context;
    struct load *load = check->load;
    const uint64_t number = job_number(job), step = number / LOAD_STRIDE, within = number % LOAD_STRIDE;
    assert_true(step < load->step_count);
    assert_int_equal(load->found[number], 0);
    load->found[number] = 1;
    const bool *tried = load->tried + step * LOAD_PARTS, *acknowledged = load->acknowledged + step * LOAD_PARTS;
    const int part = within == LOAD_GROUP ? LOAD_ALONE : LOAD_JOBS;
    assert_true(tried[part]);
    assert_true(acknowledged[part] || !check->strict);
    if (acknowledged[part])
        assert_int_equal(job->spec.id, load->ids[number]);
    struct made_job later;
    make_job(number + LOAD_LATER, &later);
    const bool changed = status_difference(&later.job.status, &job->status) == NULL;
    if (within == 0 && acknowledged[LOAD_CHANGE])
        assert_true(changed);
    if (changed)
        assert_true(within == 0 && tried[LOAD_CHANGE] && (acknowledged[LOAD_CHANGE] || !check->strict));
    check_job(job, number, changed ? number + LOAD_LATER : number);
    check->last = job->spec.id;
    return 0;
}

static inline int load_see_event(void *context, const struct adl_store_event *event, struct adl_error *err)
{
    (void)err;
    struct load_check *check = context;
    uint64_t number = 0;
    assert_int_equal(sscanf(event->payload, "{\"number\":%" SCNu64 "}", &number), 1);
    assert_true(number / LOAD_STRIDE < check->load->step_count);
    check->load->events[number]++;
    check->last = event->sequence;
    return 0;
}

/* Returns how many jobs there are. */
static inline int load_verify(struct adl_store *store, struct load *load, bool strict)
{
    struct load_check check = {.load = load, .strict = strict};
    struct adl_error err;
    int jobs = 0, count;
    memset(load->found, 0, (size_t)load->step_count * LOAD_STRIDE);
    memset(load->events, 0, (size_t)load->step_count * LOAD_STRIDE);
    while ((count = adl_store_jobs_page(store, &(struct adl_store_page){.after = check.last, .limit = 500},
                                        load_see_job, &check, &err)) > 0)
        jobs += count;
    if (count < 0)
        fail_msg("%s", err.text);
    check.last = 0;
    while ((count = adl_store_events(store, check.last, 0, 500, load_see_event, &check, &err)) > 0)
        ;
    if (count < 0)
        fail_msg("%s", err.text);
    for (uint32_t step = 0; step < load->step_count; step++) {
        const uint8_t *found = load->found + (size_t)step * LOAD_STRIDE;
        const uint8_t *events = load->events + (size_t)step * LOAD_STRIDE;
        for (int i = 0; i < LOAD_GROUP; i++)
            if (found[i] != found[0] || events[i] != found[0])
                fail_msg("half of group %u is there", step);
        if ((load->acknowledged[step * LOAD_PARTS + LOAD_JOBS] && !found[0]) ||
            (load->acknowledged[step * LOAD_PARTS + LOAD_ALONE] && !found[LOAD_GROUP]))
            fail_msg("a job of step %u was acknowledged and is gone", step);
    }
    return jobs;
}

#endif
