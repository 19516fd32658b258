/* gavel: shares of GPU time that know how fast each job is on each type.
 *
 * D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee and M. Zaharia, "Heterogeneity-Aware Cluster Scheduling
 * Policies for Deep Learning Workloads", OSDI 2020. X_ja >= 0 is the share of time that job j runs on type a, s_j its
 * GPUs, T_ja its throughput there (1 / predicted run time), N_a the GPUs of the type that are up; always
 *     sum_a X_ja <= 1,    sum_j s_j X_ja <= N_a    (section 3.1).
 * gavel      by its objective:
 *   max_min      maximizes min_j (s_j / T_j^prop) sum_a T_ja X_ja (section 4.1, all weights 1), where T_j^prop is the
 *                throughput under an equal share of every type: sum_a T_ja N_a / sum_a N_a.
 *   agnostic     the same with all T_ja = 1.
 *   finish_time  minimizes max_j (age_j + left_j / sum_a T_ja X_ja) / (what j would take alone on 1 / jobs of the
 *                cluster) (section 4.2, Themis' finish-time fairness). Alone: left_j at that pace, and for work that is
 *                done the pace when it was.
 *   makespan     minimizes max_j left_j / sum_a T_ja X_ja (section 4.2), as the authors do: the least of the T that a
 *                halving search from 100 s to 1,000,000 s meets until it knows T to 5 %, then any X that keep it.
 * gavel-jct  minimizes sum_j (age_j + left_j / sum_a T_ja X_ja) (section 4.2's completion times, summed). Ages are
 *            constants. The best share grows with the root of what is left and is never 0, but may be a hundredth of
 *            another's: rounds go by owed time, or such a job would never run.
 * Where many X are equally good, their centre is taken: solve/shares.h.
 *
 * Up to KINDS_MAX jobs have variables of their own, but of those that `agnostic` cannot tell apart all share one set,
 * which is exact. With more jobs, those that are alike (GPUs, relative speeds to 1/4096
 * and, where they matter, remaining time and age to a factor of 2) share one set; with more than KINDS_MAX kinds the
 * grain is doubled until they fit, which adl_gavel_counts tells.
 *
 * Who runs in which round follows from the shares: policy/mechanism/rounds.c. The authors' rounds are 360 s; unless
 * round_s says so, ours follow from the predicted run times (docs/policies.md). */
#include "policy/gavel.h"

#include "base/copy.h"
#include "base/hash.h"
#include "policy/mechanism/rounds.h"
#include "solve/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KINDS_MAX  256
#define TABLE_SIZE 1024 /* a power of two above 2 * KINDS_MAX */
#define GRAIN      4096

_Static_assert(ADL_SHARES_TYPES_MAX == ADL_TYPES_MAX, "shares of every type");

/* Which jobs are taken as alike. */
struct kind_key {
    uint16_t gpus;
    uint16_t left, age;            /* logarithms; 0 where they do not matter */
    uint16_t speed[ADL_TYPES_MAX]; /* in grains; 0 = not there */
};

/* What a job would have had alone on its part of the cluster: finish_time. */
struct alone {
    double spent_s; /* for the work done until the last program */
    double left_s;  /* then, on its fastest type; 0 = it was in no program yet */
    double pace;    /* then, relative to its fastest type */
};

struct gavel {
    const struct adl_cluster *cluster;
    struct adl_rounds *rounds;
    struct adl_shares *shares;
    int goal;      /* enum adl_shares_goal */
    bool agnostic; /* all types are equally fast */
    bool makespan;
    uint32_t types;
    double gpus[ADL_TYPES_MAX]; /* up */
    struct adl_shares_kind *kinds;
    struct kind_key *keys;
    uint32_t kind_count;
    uint32_t grain;
    uint32_t *table;     /* open hash of keys */
    uint32_t *kind_of;   /* [slot] of this program; grown with the jobs */
    struct alone *alone; /* [slot] */
    size_t kind_of_capacity, alone_capacity;
    bool out_of_memory;
    struct adl_gavel_counts counts;
};

static void destroy(void *policy)
{
    struct gavel *self = policy;
    if (!self)
        return;
    adl_rounds_destroy(self->rounds);
    adl_shares_destroy(self->shares);
    free(self->kinds);
    free(self->keys);
    free(self->table);
    free(self->kind_of);
    free(self->alone);
    free(self);
}

/* What shares of time are to reach; the formulas are above. */
enum objective {
    OBJECTIVE_MAX_MIN,     /* the job that gains least of its equal share gains most */
    OBJECTIVE_AGNOSTIC,    /* the same, as if all types were equally fast */
    OBJECTIVE_FINISH_TIME, /* the job that ends latest compared with a cluster of its own ends earliest */
    OBJECTIVE_MAKESPAN,    /* all jobs end early */
};

static const char *const objective_words[] = {"max_min", "agnostic", "finish_time", "makespan", NULL};
_Static_assert(sizeof objective_words / sizeof *objective_words == OBJECTIVE_MAKESPAN + 2,
               "an objective without a name");

struct gavel_options {
    double round_s, round_part, round_stops;
    int objective;
    bool type_by_type;  /* a round fills the first type, then the second ...; else all in one ranking */
    bool by_owed_time;  /* rounds go by the time that jobs are owed; else by share / part of the time had */
    bool new_jobs_wait; /* a job holds GPUs idle until shares are recomputed; else it may run before */
};

#define PAPER       "Narayanan et al., OSDI 2020"
#define JCT_OPTIONS 5 /* those that gavel-jct has too come first */

static const struct adl_policy_option options[] = {
    {.name = "round_s",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct gavel_options, round_s),
     .value = "0",
     .range = {.min = 1, .max = 1e6, .or_zero = true},
     .help = "length of a round in seconds; 0 = the policy chooses it from the work",
     .source = "360: " PAPER},
    {.name = "gavel_round_part",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct gavel_options, round_part),
     .value = "0.1",
     .range = {.min = 0.001, .max = 1000},
     .help = "a round that the policy chooses is this part of the median predicted run time of the jobs so far"},
    {.name = "gavel_round_stops",
     .type = ADL_POLICY_REAL,
     .offset = offsetof(struct gavel_options, round_stops),
     .value = "5",
     .range = {.max = 1e6},
     .help = "and at least this many times what a stop and the restart after it cost"},
    {.name = "gavel_type_by_type",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct gavel_options, type_by_type),
     .value = "false",
     .help = "a round fills the first type, then the second and so on; else all in one ranking",
     .source = "Gavel's simulator"},
    {.name = "gavel_new_jobs_wait",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct gavel_options, new_jobs_wait),
     .value = "false",
     .help = "a new job holds its GPUs idle until shares are recomputed; else it may run before",
     .source = "Gavel's simulator"},
    {.name = "gavel_objective",
     .type = ADL_POLICY_WORD,
     .offset = offsetof(struct gavel_options, objective),
     .value = "max_min",
     .words = objective_words,
     .help = "what shares of time are to reach: the worst-off job does best (`agnostic`: as if all types were equally "
             "fast), fair times of finishing, an early end of all",
     .source = PAPER},
    {.name = "gavel_by_owed_time",
     .type = ADL_POLICY_BOOL,
     .offset = offsetof(struct gavel_options, by_owed_time),
     .value = "false",
     .help = "rounds go by the time that jobs are owed, else by share / part of the time had of late; `gavel-jct` "
             "always does"},
};

static int create_parts(struct gavel *self, const struct adl_policy_config *config, uint64_t seed)
{
    const struct gavel_options *own = config->options;
    const struct adl_rounds_config rounds = {.round_us = (int64_t)(own->round_s * 1e6),
                                             .round_part = own->round_part,
                                             .round_least_us =
                                                 (int64_t)(own->round_stops * (double)config->preemption_us),
                                             .type_by_type = own->type_by_type,
                                             .types_shuffled = own->type_by_type && self->agnostic,
                                             .by_owed_time = self->goal == ADL_SHARES_SUM || own->by_owed_time,
                                             .new_jobs_wait = own->new_jobs_wait};
    self->kinds = calloc(KINDS_MAX, sizeof *self->kinds);
    self->keys = calloc(KINDS_MAX, sizeof *self->keys);
    self->table = calloc(TABLE_SIZE, sizeof *self->table);
    if (!self->kinds || !self->keys || !self->table || adl_shares_create(KINDS_MAX, self->types, &self->shares))
        return ADL_ENOMEM;
    return adl_rounds_create(self->cluster, &rounds, seed, &self->rounds);
}

static int create_form(bool by_completion, const struct adl_policy_config *config, const struct adl_cluster *cluster,
                       uint64_t seed, void **ret_policy, struct adl_error *err)
{
    const struct gavel_options *own = config->options;
    struct gavel *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy gavel");
    self->cluster = cluster;
    self->types = cluster->type_count;
    self->goal = by_completion                             ? ADL_SHARES_SUM
                 : own->objective == OBJECTIVE_FINISH_TIME ? ADL_SHARES_FINISH
                                                           : ADL_SHARES_MAX_MIN;
    self->agnostic = !by_completion && own->objective == OBJECTIVE_AGNOSTIC;
    self->makespan = !by_completion && own->objective == OBJECTIVE_MAKESPAN;
    if (create_parts(self, config, seed)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy gavel");
    }
    *ret_policy = self;
    return 0;
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    return create_form(false, config, cluster, seed, ret_policy, err);
}

static int create_jct(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                      void **ret_policy, struct adl_error *err)
{
    return create_form(true, config, cluster, seed, ret_policy, err);
}

static int copy(void *policy, const void *from)
{
    struct gavel *self = policy;
    const struct gavel *other = from;
    if (adl_grow((void **)&self->kind_of, &self->kind_of_capacity, other->kind_of_capacity, sizeof *self->kind_of) ||
        adl_grow((void **)&self->alone, &self->alone_capacity, other->alone_capacity, sizeof *self->alone) ||
        adl_rounds_copy(self->rounds, other->rounds))
        return ADL_ENOMEM;
    const struct gavel own = *self;
    *self = *other;
    self->rounds = own.rounds;
    self->shares = own.shares; /* of one program */
    self->kind_of_capacity = own.kind_of_capacity;
    self->alone_capacity = own.alone_capacity;
    ADL_COPY_ARRAY(self, own, other, kinds, KINDS_MAX);
    ADL_COPY_ARRAY(self, own, other, keys, KINDS_MAX);
    ADL_COPY_ARRAY(self, own, other, table, TABLE_SIZE);
    ADL_COPY_ARRAY(self, own, other, kind_of, other->kind_of_capacity);
    ADL_COPY_ARRAY(self, own, other, alone, other->alone_capacity);
    return 0;
}

const struct adl_gavel_counts *adl_gavel_counts(const void *policy)
{
    return &((const struct gavel *)policy)->counts;
}

static double round_s(const void *policy)
{
    return adl_rounds_length_s(((const struct gavel *)policy)->rounds);
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct gavel *self = policy;
    if (event->kind == ADL_EVENT_SUBMIT) {
        const size_t count = (size_t)event->job + 1;
        if (adl_grow((void **)&self->kind_of, &self->kind_of_capacity, count, sizeof *self->kind_of) ||
            adl_grow((void **)&self->alone, &self->alone_capacity, count, sizeof *self->alone))
            self->out_of_memory = true;
        else
            self->alone[event->job] = (struct alone){0};
    }
    adl_rounds_observe(self->rounds, event, state);
}

/* ---- a job as the program sees it ---- */

/* Time that the rest of a job would take on its fastest type. */
static double remaining_s(const struct adl_state *state, uint32_t slot, int64_t fastest_us)
{
    const struct adl_job *job = &state->jobs[slot];
    double share = job->remaining;
    if (job->phase != ADL_PHASE_PENDING)
        share *= (double)(job->expected_us - state->now_us) / (double)(job->expected_us - job->start_us);
    const double left_s = share * (double)fastest_us * 1e-6;
    return left_s > 1 ? left_s : 1;
}

/* Relative pace on 1 / jobs of every type. */
static double pace_alone(const struct gavel *self, const struct adl_shares_kind *job, uint32_t jobs)
{
    double pace = 0, time = 0;
    for (uint32_t t = 0; t < self->types; t++) {
        const double share = self->gpus[t] / ((double)jobs * job->gpus);
        time += share;
        pace += share * job->speed[t];
    }
    return time > 1 ? pace / time : pace;
}

/* Age and rest of a job in units of what it would take alone. */
static void compare_alone(struct gavel *self, uint32_t slot, uint32_t jobs, struct adl_shares_kind *job)
{
    struct alone *alone = &self->alone[slot];
    if (alone->left_s > 0)
        alone->spent_s += (alone->left_s - job->left) / alone->pace;
    alone->pace = pace_alone(self, job, jobs);
    alone->left_s = job->left;
    const double whole_s = alone->spent_s + job->left / alone->pace;
    job->age /= whole_s;
    job->left /= whole_s;
}

/* What a relative pace of 1 is worth to a job: the max-min objective's term. */
static double find_weight(const struct gavel *self, const struct adl_shares_kind *job)
{
    double all = 0, equal_share = 0;
    for (uint32_t t = 0; t < self->types; t++) {
        all += self->gpus[t];
        equal_share += job->speed[t] * self->gpus[t];
    }
    return equal_share > 0 ? job->gpus * all / equal_share : 1;
}

static struct adl_shares_kind describe(struct gavel *self, const struct adl_state *state,
                                       const struct adl_rounds_jobs *jobs, uint32_t slot)
{
    struct adl_shares_kind job = {.jobs = 1, .gpus = state->jobs[slot].spec.gpus};
    const uint32_t types = jobs->types[slot] & state->jobs[slot].eligible;
    int64_t fastest_us = INT64_MAX;
    for (uint32_t left = types; left; left &= left - 1) {
        const int64_t run_us = adl_state_runtime(state, slot, (uint32_t)__builtin_ctz(left));
        fastest_us = run_us < fastest_us ? run_us : fastest_us;
    }
    for (uint32_t t = 0; t < self->types; t++)
        if (types >> t & 1)
            job.speed[t] = self->agnostic ? 1 : (double)fastest_us / (double)adl_state_runtime(state, slot, t);
    job.left = remaining_s(state, slot, fastest_us);
    job.age = (double)(state->now_us - state->jobs[slot].submit_us) * 1e-6;
    job.weight = self->makespan ? 1 / job.left : find_weight(self, &job);
    return job;
}

/* ---- kinds of jobs ---- */

/* Equal for values that differ by less than a factor of 2 (of 4 at the next grain ...). */
static uint16_t log2_class(double value, uint32_t grain)
{
    int exponent;
    (void)frexp(value, &exponent);
    return (uint16_t)((uint32_t)(exponent + 2048) / grain);
}

static struct kind_key key_of(const struct gavel *self, const struct adl_shares_kind *job)
{
    struct kind_key key = {.gpus = (uint16_t)job->gpus};
    for (uint32_t t = 0; t < self->types; t++)
        key.speed[t] = job->speed[t] > 0 ? (uint16_t)(1 + (uint32_t)(job->speed[t] * GRAIN / self->grain)) : 0;
    if (self->goal != ADL_SHARES_MAX_MIN || self->makespan)
        key.left = log2_class(job->left, self->grain);
    if (self->goal == ADL_SHARES_FINISH)
        key.age = log2_class(job->age, self->grain);
    return key;
}

/* The kind's index, made if new; ADL_NONE if there are too many. */
static uint32_t find_kind(struct gavel *self, const struct kind_key *key)
{
    uint32_t at = (uint32_t)adl_hash_bytes(adl_hash_start(), key, sizeof *key) & (TABLE_SIZE - 1);
    for (; self->table[at] != ADL_NONE; at = (at + 1) & (TABLE_SIZE - 1))
        if (memcmp(&self->keys[self->table[at]], key, sizeof *key) == 0)
            return self->table[at];
    if (self->kind_count == KINDS_MAX)
        return ADL_NONE;
    self->keys[self->kind_count] = *key;
    self->kinds[self->kind_count] = (struct adl_shares_kind){0};
    self->table[at] = self->kind_count;
    return self->kind_count++;
}

/* agnostic: the kind of jobs that the program cannot tell from this one, empty if new; there is room for all. */
static uint32_t find_equals(struct gavel *self, const struct adl_shares_kind *job)
{
    const size_t size = self->types * sizeof *job->speed;
    const uint64_t hash = adl_hash_bytes(adl_hash_u64(adl_hash_start(), (uint64_t)job->gpus), job->speed, size);
    uint32_t at = (uint32_t)hash & (TABLE_SIZE - 1);
    for (; self->table[at] != ADL_NONE; at = (at + 1) & (TABLE_SIZE - 1)) {
        const struct adl_shares_kind *kind = &self->kinds[self->table[at]];
        if (kind->gpus == job->gpus && memcmp(kind->speed, job->speed, size) == 0)
            return self->table[at];
    }
    self->kinds[self->kind_count].jobs = 0;
    self->table[at] = self->kind_count;
    return self->kind_count++;
}

/* A kind is the mean of its jobs. */
static void add_to_kind(struct adl_shares_kind *kind, const struct adl_shares_kind *job)
{
    const double jobs = kind->jobs + 1, part = 1 / jobs;
    if (kind->jobs == 0) {
        *kind = *job;
        return;
    }
    kind->jobs = jobs;
    kind->left += (job->left - kind->left) * part;
    kind->age += (job->age - kind->age) * part;
    kind->weight += (job->weight - kind->weight) * part;
}

/* False if no GPU that it could run on is up. */
static bool has_place(const struct gavel *self, const struct adl_shares_kind *job)
{
    bool found = false;
    for (uint32_t t = 0; t < self->types; t++)
        found |= job->speed[t] > 0 && self->gpus[t] > 0;
    return found;
}

/* False if there are too many kinds. */
static bool sort_into_kinds(struct gavel *self, const struct adl_state *state, const struct adl_rounds_jobs *jobs)
{
    self->kind_count = 0;
    memset(self->table, 0xff, TABLE_SIZE * sizeof *self->table);
    for (uint32_t i = 0; i < jobs->count; i++) {
        const uint32_t slot = jobs->slots[i];
        struct adl_shares_kind job = describe(self, state, jobs, slot);
        self->kind_of[slot] = ADL_NONE;
        if (!has_place(self, &job))
            continue;
        if (self->goal == ADL_SHARES_FINISH)
            compare_alone(self, slot, jobs->count, &job);
        uint32_t found;
        if (jobs->count <= KINDS_MAX && self->agnostic) {
            found = find_equals(self, &job);
        } else if (jobs->count <= KINDS_MAX) {
            found = self->kind_count++;
            self->kinds[found].jobs = 0;
        } else {
            const struct kind_key key = key_of(self, &job);
            found = find_kind(self, &key);
        }
        if (found == ADL_NONE)
            return false;
        add_to_kind(&self->kinds[found], &job);
        self->kind_of[slot] = found;
    }
    return true;
}

static bool find_kinds(struct gavel *self, const struct adl_state *state, const struct adl_rounds_jobs *jobs)
{
    bool found = false;
    for (self->grain = 1; !found && self->grain <= GRAIN; self->grain *= 2)
        found = sort_into_kinds(self, state, jobs);
    self->counts.coarsened += found && self->grain > 2;
    return found;
}

/* ---- the program ---- */

static bool solve_form(struct gavel *self, int goal, double floor, double *ret_goal)
{
    const struct adl_shares_problem problem = {.goal = goal,
                                               .types = self->types,
                                               .capacity = self->gpus,
                                               .floor = floor,
                                               .count = self->kind_count,
                                               .kinds = self->kinds};
    const struct adl_shares_answer answer = adl_shares_solve(self->shares, &problem);
    self->counts.programs++;
    self->counts.iterations += answer.steps;
    *ret_goal = answer.goal;
    return answer.solved;
}

/* The end that the authors' search settles on if none before least_s is possible. */
static double search_end_s(double least_s)
{
    double low = 100, high = 1e6, limit = high, found = 0;
    while (found == 0) {
        while (1.05 * low < high) {
            const double end_s = (low + high) / 2;
            if (end_s > least_s)
                found = high = end_s;
            else
                low = end_s;
        }
        low = limit;
        limit *= 10;
        high = limit;
    }
    return found;
}

static bool solve(struct gavel *self)
{
    double goal;
    if (self->kind_count == 0)
        return true;
    if (!solve_form(self, self->goal, 0, &goal))
        return false;
    /* The centre fails only where precision does, and then leaves shares that keep the end. */
    if (self->makespan)
        solve_form(self, ADL_SHARES_FLOOR, 1 / search_end_s(1 / goal), &goal);
    return true;
}

/* Without a solution: the same share of each type for every job, as far as it goes. */
static void share_equally(struct gavel *self, const struct adl_state *state, const struct adl_rounds_jobs *jobs)
{
    double wanted = 0, all = 0;
    for (uint32_t t = 0; t < self->types; t++)
        all += self->gpus[t];
    for (uint32_t i = 0; i < jobs->count; i++)
        wanted += state->jobs[jobs->slots[i]].spec.gpus;
    for (uint32_t i = 0; all > 0 && i < jobs->count; i++)
        for (uint32_t t = 0; t < self->types; t++)
            jobs->share[(size_t)jobs->slots[i] * self->types + t] = self->gpus[t] / (wanted > all ? wanted : all);
    self->counts.unsolved++;
}

static int allocate(void *policy, const struct adl_state *state, const struct adl_rounds_jobs *jobs)
{
    struct gavel *self = policy;
    for (uint32_t t = 0; t < self->types; t++)
        self->gpus[t] = self->cluster->type_gpus[t];
    for (uint32_t g = 0; state->down_gpus > 0 && g < self->cluster->gpu_count; g++)
        self->gpus[adl_gpu_type_of(self->cluster, g)] -= state->gpus[g].down;
    if (!find_kinds(self, state, jobs) || !solve(self)) {
        share_equally(self, state, jobs);
        return 0;
    }
    for (uint32_t i = 0; i < jobs->count; i++) {
        const uint32_t slot = jobs->slots[i];
        if (self->kind_of[slot] != ADL_NONE)
            memcpy(&jobs->share[(size_t)slot * self->types], self->kinds[self->kind_of[slot]].share,
                   self->types * sizeof *jobs->share);
    }
    return 0;
}

static int decide(void *policy, const struct adl_state *state, struct adl_plan *plan)
{
    struct gavel *self = policy;
    if (self->out_of_memory)
        return ADL_ENOMEM;
    return adl_rounds_decide(self->rounds, state, allocate, self, plan);
}

const struct adl_policy_ops adl_policy_gavel = {
    .name = "gavel",
    .summary = "Gavel: rounds in which the job that gains least of its equal share gains most",
    .points_only = true,
    ADL_POLICY_OPTIONS(options, struct gavel_options),
    .create = create,
    .destroy = destroy,
    .copy = copy,
    .decide = decide,
    .observe = observe,
    .round_s = round_s,
};

const struct adl_policy_ops adl_policy_gavel_jct = {
    .name = "gavel-jct",
    .summary = "Gavel: rounds in which GPU time is shared for the least sum of completion times",
    .points_only = true,
    .options = options,
    .option_count = JCT_OPTIONS,
    .options_size = sizeof(struct gavel_options),
    .create = create_jct,
    .destroy = destroy,
    .copy = copy,
    .decide = decide,
    .observe = observe,
    .round_s = round_s,
};
