/* gavel: shares of GPU time by linear programs that know how fast each job is on each type.
 *
 * D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee and M. Zaharia, "Heterogeneity-Aware Cluster Scheduling
 * Policies for Deep Learning Workloads", OSDI 2020. X_ja >= 0 is the share of time that job j runs on type a, s_j its
 * GPUs, T_ja its throughput there (1 / believed run time), N_a the GPUs of the type that are up; always
 *     sum_a X_ja <= 1,    sum_j s_j X_ja <= N_a    (section 3.1).
 * gavel      maximizes min_j (s_j / T_j^prop) sum_a T_ja X_ja (section 4.1, all weights 1), where T_j^prop is the
 *            throughput under an equal share of every type: sum_a T_ja N_a / sum_a N_a.
 * gavel-jct  minimizes sum_j (age_j + steps_j / sum_a T_ja X_ja) (section 4.2's completion times, summed). Ages are
 *            constants. The sum is convex in the effective speed v_j = sum_a T_ja X_ja / max_a T_ja; 1 / v is replaced
 *            by straight pieces between v = 2^-7, 2^-6 ... 1, exact at these points and at most 1/8 above between them.
 *
 * Jobs that are alike (GPUs, relative speeds to 1/4096 and, for gavel-jct, remaining time to a factor of 2) share one
 * set of variables, their mean: both objectives are symmetric and convex, so nothing is lost by it for equal jobs. At
 * most KINDS_MAX kinds; with more the grain is doubled until they fit, which adl_gavel_counts tells. Each program
 * starts from the last basis. decide() does not allocate by itself, but the solver does.
 *
 * Who runs in which round follows from the shares: decide/rounds.c. */
#include "decide/gavel.h"

#include "base/hash.h"
#include "decide/rounds.h"
#include "solve/lp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_S        360.0
#define KINDS_MAX      256
#define TABLE_SIZE     1024 /* a power of two above 2 * KINDS_MAX */
#define GRAIN          4096
#define PIECES         8 /* of 1 / v */
#define ITERATIONS_MAX 20000
#define SHARE_MIN      1e-9 /* less is the solver's rounding */

/* Jobs that are alike. */
struct kind {
    uint16_t gpus;
    uint16_t length;                                                  /* gavel-jct: logarithm of the remaining time */
    uint16_t key[ADL_TYPES_MAX];                                      /* relative speed in grains; 0 = not there */
    double speed[ADL_TYPES_MAX];                                      /* relative to the type where it is fastest */
    uint32_t jobs;                                                    /* of this program */
    double remaining_s;                                               /* of these on their fastest type, in all */
    uint32_t first_column;                                            /* in this program */
    uint64_t used;                                                    /* the last program it was in */
    unsigned char column_place[ADL_TYPES_MAX + PIECES], row_place[2]; /* in the last basis */
};

struct gavel {
    const struct adl_cluster *cluster;
    struct adl_rounds *rounds;
    struct adl_lp *lp;
    bool by_completion;
    uint32_t types, columns_max, rows_max;
    double gpus[ADL_TYPES_MAX]; /* up */
    struct kind *kinds;
    uint32_t kind_count;
    uint32_t grain;
    uint32_t *table;   /* open hash of kinds */
    uint32_t *kind_of; /* [slot] of this program; grown with the jobs */
    size_t kind_of_capacity;
    uint32_t active[KINDS_MAX]; /* kinds of this program */
    uint32_t active_count;
    int *start, *index; /* the program, by columns */
    double *value, *upper, *objective, *row_lower, *row_upper, *answer;
    double *lower; /* zeros */
    unsigned char *basis;
    unsigned char first_place[1 + ADL_TYPES_MAX]; /* of the common column and the rows of types */
    uint64_t program;
    bool out_of_memory;
    struct adl_gavel_counts counts;
};

static void destroy(void *policy)
{
    struct gavel *self = policy;
    if (!self)
        return;
    adl_rounds_destroy(self->rounds);
    adl_lp_destroy(self->lp);
    free(self->kinds);
    free(self->table);
    free(self->kind_of);
    free(self->start);
    free(self->index);
    free(self->value);
    free(self->lower);
    free(self->upper);
    free(self->objective);
    free(self->row_lower);
    free(self->row_upper);
    free(self->answer);
    free(self->basis);
    free(self);
}

static int create_tables(struct gavel *self)
{
    const size_t columns = 1 + (size_t)KINDS_MAX * (self->types + PIECES), rows = self->types + 2 * (size_t)KINDS_MAX;
    const size_t entries = KINDS_MAX * (3 * (size_t)self->types + PIECES + 1);
    self->kinds = calloc(KINDS_MAX, sizeof *self->kinds);
    self->table = malloc(TABLE_SIZE * sizeof *self->table);
    self->start = malloc((columns + 1) * sizeof *self->start);
    self->index = malloc(entries * sizeof *self->index);
    self->value = malloc(entries * sizeof *self->value);
    self->lower = calloc(columns, sizeof *self->lower);
    self->upper = malloc(columns * sizeof *self->upper);
    self->objective = malloc(columns * sizeof *self->objective);
    self->row_lower = malloc(rows * sizeof *self->row_lower);
    self->row_upper = malloc(rows * sizeof *self->row_upper);
    self->answer = malloc(columns * sizeof *self->answer);
    self->basis = malloc(columns + rows);
    return self->kinds && self->table && self->start && self->index && self->value && self->lower && self->upper &&
                   self->objective && self->row_lower && self->row_upper && self->answer && self->basis
               ? 0
               : ADL_ENOMEM;
}

static void forget_kinds(struct gavel *self)
{
    self->kind_count = 0;
    memset(self->table, 0xff, TABLE_SIZE * sizeof *self->table);
    memset(self->first_place, ADL_LP_BASIC, sizeof self->first_place);
    self->first_place[0] = ADL_LP_AT_LOWER;
}

static int create_form(bool by_completion, const struct adl_policy_config *config, const struct adl_cluster *cluster,
                       void **ret_policy, struct adl_error *err)
{
    struct gavel *self = calloc(1, sizeof *self);
    if (!self)
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy gavel");
    self->cluster = cluster;
    self->types = cluster->type_count;
    self->by_completion = by_completion;
    const double round_s = config->round_s > 0 ? config->round_s : ROUND_S;
    if (create_tables(self) || adl_lp_create(&self->lp) ||
        adl_rounds_create(cluster, (int64_t)(round_s * 1e6), &self->rounds)) {
        destroy(self);
        return adl_fail(err, ADL_ENOMEM, "out of memory for policy gavel");
    }
    self->grain = 1;
    forget_kinds(self);
    *ret_policy = self;
    return 0;
}

static int create(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                  void **ret_policy, struct adl_error *err)
{
    (void)seed;
    return create_form(false, config, cluster, ret_policy, err);
}

static int create_jct(const struct adl_policy_config *config, const struct adl_cluster *cluster, uint64_t seed,
                      void **ret_policy, struct adl_error *err)
{
    (void)seed;
    return create_form(true, config, cluster, ret_policy, err);
}

const struct adl_gavel_counts *adl_gavel_counts(const void *policy)
{
    return &((const struct gavel *)policy)->counts;
}

static void observe(void *policy, const struct adl_event *event, const struct adl_state *state)
{
    struct gavel *self = policy;
    if (event->kind == ADL_EVENT_SUBMIT &&
        adl_grow((void **)&self->kind_of, &self->kind_of_capacity, (size_t)event->job + 1, sizeof *self->kind_of))
        self->out_of_memory = true;
    adl_rounds_observe(self->rounds, event, state);
}

/* ---- kinds of jobs ---- */

/* Time that the rest of a job would take on its fastest type. */
static double remaining_s(const struct adl_state *state, uint32_t slot, int64_t fastest_us)
{
    const struct adl_job *job = &state->jobs[slot];
    double share = job->remaining;
    if (job->phase != ADL_PHASE_PENDING)
        share = (double)(job->expected_us - state->now_us) / (double)adl_state_runtime(state, slot, job->type);
    const double left_s = share * (double)fastest_us * 1e-6;
    return left_s > 1 ? left_s : 1;
}

static struct kind describe(const struct gavel *self, const struct adl_state *state, uint32_t slot, uint32_t types)
{
    struct kind kind = {.gpus = state->jobs[slot].spec.gpus, .jobs = 1};
    int64_t fastest_us = INT64_MAX;
    types &= state->jobs[slot].eligible;
    for (uint32_t left = types; left; left &= left - 1) {
        const int64_t run_us = adl_state_runtime(state, slot, (uint32_t)__builtin_ctz(left));
        fastest_us = run_us < fastest_us ? run_us : fastest_us;
    }
    for (uint32_t t = 0; t < self->types; t++) {
        if (!(types >> t & 1))
            continue;
        kind.speed[t] = (double)fastest_us / (double)adl_state_runtime(state, slot, t);
        kind.key[t] = (uint16_t)(1 + (uint32_t)(kind.speed[t] * GRAIN / self->grain));
    }
    kind.remaining_s = remaining_s(state, slot, fastest_us);
    if (self->by_completion)
        kind.length = (uint16_t)((63u - (uint32_t)__builtin_clzll((uint64_t)kind.remaining_s)) / self->grain + 1);
    return kind;
}

static bool alike(const struct gavel *self, const struct kind *a, const struct kind *b)
{
    return a->gpus == b->gpus && a->length == b->length && memcmp(a->key, b->key, self->types * sizeof *a->key) == 0;
}

/* The kind's index, made if new; ADL_NONE if there are too many. */
static uint32_t find_kind(struct gavel *self, const struct kind *wanted)
{
    uint64_t hash = adl_hash_u64(adl_hash_start(), (uint64_t)wanted->gpus << 16 | wanted->length);
    hash = adl_hash_bytes(hash, wanted->key, self->types * sizeof *wanted->key);
    uint32_t at = (uint32_t)hash & (TABLE_SIZE - 1);
    for (; self->table[at] != ADL_NONE; at = (at + 1) & (TABLE_SIZE - 1))
        if (alike(self, &self->kinds[self->table[at]], wanted))
            return self->table[at];
    if (self->kind_count == KINDS_MAX)
        return ADL_NONE;
    struct kind *made = &self->kinds[self->kind_count];
    *made = *wanted;
    made->used = 0;
    memset(made->column_place, ADL_LP_AT_LOWER, sizeof made->column_place);
    memset(made->row_place, ADL_LP_BASIC, sizeof made->row_place);
    self->table[at] = self->kind_count;
    return self->kind_count++;
}

static bool sort_into_kinds(struct gavel *self, const struct adl_state *state, const struct adl_rounds_jobs *jobs)
{
    self->program++;
    self->active_count = 0;
    for (uint32_t i = 0; i < jobs->count; i++) {
        const uint32_t slot = jobs->slots[i];
        const struct kind described = describe(self, state, slot, jobs->types[slot]);
        const uint32_t found = find_kind(self, &described);
        if (found == ADL_NONE)
            return false;
        struct kind *kind = &self->kinds[found];
        if (kind->used != self->program) {
            kind->used = self->program;
            kind->jobs = 0;
            kind->remaining_s = 0;
            self->active[self->active_count++] = found;
        }
        kind->jobs++;
        kind->remaining_s += described.remaining_s;
        self->kind_of[slot] = found;
    }
    return true;
}

/* Too many kinds: first those of the past are forgotten, then the grain is made coarser. False if nothing helps. */
static bool find_kinds(struct gavel *self, const struct adl_state *state, const struct adl_rounds_jobs *jobs)
{
    bool found = (self->grain == 1 || self->active_count > KINDS_MAX / 4) && sort_into_kinds(self, state, jobs);
    for (uint32_t grain = 1; !found && grain <= GRAIN; grain *= 2) {
        self->grain = grain;
        forget_kinds(self);
        found = sort_into_kinds(self, state, jobs);
    }
    self->counts.coarsened += found && self->grain > 1;
    return found;
}

/* ---- the program ---- */

/* Rows: the types, then two for each kind: its time (sum_a X_a <= 1) and its worth. */
static int time_row(const struct gavel *self, uint32_t i)
{
    return (int)(self->types + 2 * i);
}

struct program {
    int columns, entries;
};

static void put(struct gavel *self, struct program *program, int row, double value)
{
    self->index[program->entries] = row;
    self->value[program->entries++] = value;
}

static void add_column(struct gavel *self, struct program *program, double upper, double objective)
{
    self->start[program->columns] = program->entries;
    self->upper[program->columns] = upper;
    self->objective[program->columns++] = objective;
}

/* What a unit of X on each type is worth to a job of the kind: relative speed, or the max-min objective's term. */
static void find_worth(const struct gavel *self, const struct kind *kind, double *ret_worth)
{
    double all = 0, equal_share = 0, factor = 1;
    for (uint32_t t = 0; t < self->types; t++) {
        all += self->gpus[t];
        equal_share += kind->speed[t] * self->gpus[t];
    }
    if (!self->by_completion)
        factor = equal_share > 0 ? kind->gpus * all / equal_share : 0;
    for (uint32_t t = 0; t < self->types; t++)
        ret_worth[t] = kind->speed[t] * factor;
}

static void add_kind(struct gavel *self, struct program *program, uint32_t i, double scale)
{
    struct kind *kind = &self->kinds[self->active[i]];
    double worth[ADL_TYPES_MAX];
    find_worth(self, kind, worth);
    kind->first_column = (uint32_t)program->columns;
    for (uint32_t t = 0; t < self->types; t++) {
        add_column(self, program, kind->key[t] ? 1 : 0, 0);
        put(self, program, (int)t, (double)kind->gpus * kind->jobs);
        put(self, program, time_row(self, i), 1);
        put(self, program, time_row(self, i) + 1, worth[t]);
    }
    self->row_lower[time_row(self, i)] = -HUGE_VAL;
    self->row_upper[time_row(self, i)] = 1;
    self->row_lower[time_row(self, i) + 1] = 0;
    self->row_upper[time_row(self, i) + 1] = self->by_completion ? 0 : HUGE_VAL;
    for (int piece = 0; self->by_completion && piece < PIECES; piece++) {
        /* From v = end / 2 (the first: 0) to end, 1 / v falls by 2 / end^2 for each unit. */
        const double end = ldexp(1.0, piece - PIECES + 1);
        add_column(self, program, piece ? end / 2 : end, -kind->remaining_s * scale * 2 / (end * end));
        put(self, program, time_row(self, i) + 1, -1);
    }
}

static struct program build(struct gavel *self)
{
    struct program program = {0};
    double sum_s = 0;
    for (uint32_t t = 0; t < self->types; t++) {
        self->row_lower[t] = -HUGE_VAL;
        self->row_upper[t] = self->gpus[t];
    }
    for (uint32_t i = 0; i < self->active_count; i++)
        sum_s += self->kinds[self->active[i]].remaining_s;
    /* The worth of the worst-off job; without use for gavel-jct. */
    add_column(self, &program, self->by_completion ? 0 : HUGE_VAL, -1);
    for (uint32_t i = 0; !self->by_completion && i < self->active_count; i++)
        put(self, &program, time_row(self, i) + 1, -1);
    for (uint32_t i = 0; i < self->active_count; i++)
        add_kind(self, &program, i, 1 / sum_s);
    self->start[program.columns] = program.entries;
    return program;
}

/* Between the basis of the program and the places that kinds remember. */
static void move_basis(struct gavel *self, int columns, bool to_program)
{
    const size_t of_kind = self->types + (self->by_completion ? PIECES : 0);
    unsigned char *rows = self->basis + columns;
    const struct {
        unsigned char *program, *kept;
        size_t size;
    } common[] = {{self->basis, self->first_place, 1}, {rows, self->first_place + 1, self->types}};
    for (int i = 0; i < 2; i++)
        memcpy(to_program ? common[i].program : common[i].kept, to_program ? common[i].kept : common[i].program,
               common[i].size);
    for (uint32_t i = 0; i < self->active_count; i++) {
        struct kind *kind = &self->kinds[self->active[i]];
        unsigned char *its_columns = self->basis + kind->first_column, *its_rows = rows + time_row(self, i);
        memcpy(to_program ? its_columns : kind->column_place, to_program ? kind->column_place : its_columns, of_kind);
        memcpy(to_program ? its_rows : kind->row_place, to_program ? kind->row_place : its_rows, 2);
    }
}

static bool solve(struct gavel *self)
{
    const struct program program = build(self);
    const struct adl_lp_problem problem = {.rows = (int)(self->types + 2 * self->active_count),
                                           .columns = program.columns,
                                           .start = self->start,
                                           .index = self->index,
                                           .value = self->value,
                                           .column_lower = self->lower,
                                           .column_upper = self->upper,
                                           .objective = self->objective,
                                           .row_lower = self->row_lower,
                                           .row_upper = self->row_upper};
    move_basis(self, program.columns, true);
    const struct adl_lp_answer answer = adl_lp_solve(self->lp, &problem, ITERATIONS_MAX, self->basis, self->answer);
    self->counts.programs++;
    self->counts.iterations += answer.iterations;
    if (answer.outcome != ADL_LP_OPTIMAL)
        return false;
    move_basis(self, program.columns, false);
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
    self->grain = 1;
    forget_kinds(self);
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
        const struct kind *kind = &self->kinds[self->kind_of[slot]];
        for (uint32_t t = 0; t < self->types; t++) {
            const double share = self->answer[kind->first_column + t];
            jobs->share[(size_t)slot * self->types + t] = share > SHARE_MIN ? share : 0;
        }
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
    .create = create,
    .destroy = destroy,
    .decide = decide,
    .observe = observe,
};

const struct adl_policy_ops adl_policy_gavel_jct = {
    .name = "gavel-jct",
    .summary = "Gavel: rounds in which GPU time is shared for the least sum of completion times",
    .create = create_jct,
    .destroy = destroy,
    .decide = decide,
    .observe = observe,
};
