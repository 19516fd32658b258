#include "solve/time_index.h"

#include "base/error.h"
#include "solve/job_cost.h"
#include "solve/lp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_ROW (-1)
#define KEEP   0.5 /* of the best prices, in those of the next round */

#define LEAST_GAIN 1e-7 /* of a column: how far its reduced cost is below 0, relative to its cost */

enum { FIRST_STARTS = 8 }; /* schedules of each mode to begin with */

/* The linear program has a column for each known schedule of a job and two kinds of rows: for each job its columns sum
 * to 1; for each pool and point of the mesh but the last, what columns hold of the pool is weighted by the function
 * that is 1 at that point, 0 at the others and linear between them. The dual value of that row is the price at that
 * point. */
struct search {
    const struct adl_time_index_problem *problem;
    struct adl_lp *lp;
    int *pool_row; /* [pool] its first row; NO_ROW = another pool implies it */
    int rows;
    double *row_lower, *row_upper, *duals; /* [rows] */
    double *price, *best_price;            /* [pool][points] */
    double *column;                        /* [rows] one column, dense */
    unsigned char *row_place;              /* [rows] of the last basis */
    struct adl_job_cost_scratch scratch;
    /* Columns. */
    int count, capacity, entries, entry_capacity;
    int *start, *index;
    double *value, *cost, *lower, *upper, *amounts;
    unsigned char *basis; /* [capacity + rows] */
};

/* ---- columns ---- */

static int grow(void *array, size_t size)
{
    void **pointer = array, *moved = realloc(*pointer, size);
    if (!moved)
        return ADL_ENOMEM;
    *pointer = moved;
    return 0;
}

static int reserve(struct search *s)
{
    if (s->count + 1 >= s->capacity) {
        const int capacity = s->capacity ? 2 * s->capacity : 1024;
        const size_t reals = (size_t)capacity * sizeof *s->cost;
        if (grow(&s->start, (size_t)capacity * sizeof *s->start) || grow(&s->cost, reals) || grow(&s->lower, reals) ||
            grow(&s->upper, reals) || grow(&s->amounts, reals) || grow(&s->basis, (size_t)capacity + (size_t)s->rows))
            return ADL_ENOMEM;
        s->capacity = capacity;
    }
    if (s->entries + s->rows >= s->entry_capacity) {
        const int capacity = 2 * (s->entry_capacity + s->rows);
        if (grow(&s->index, (size_t)capacity * sizeof *s->index) ||
            grow(&s->value, (size_t)capacity * sizeof *s->value))
            return ADL_ENOMEM;
        s->entry_capacity = capacity;
    }
    return 0;
}

/* Adds what a mode holds from one time to another, or `held` of it. */
static void hold(struct search *s, const struct adl_time_index_mode *mode, double from, double to, double held)
{
    const struct adl_time_index_problem *problem = s->problem;
    for (uint32_t i = adl_mesh_find(problem, from); i + 1 < problem->points && problem->mesh[i] < to; i++) {
        const double left = problem->mesh[i], right = problem->mesh[i + 1];
        const double a = from > left ? from : left, b = to < right ? to : right;
        const double late = (b - a) * ((a + b) / 2 - left) / (right - left), early = (b - a) - late;
        for (uint32_t u = 0; u < mode->use_count; u++) {
            const int row = s->pool_row[mode->pool[u]];
            if (row == NO_ROW)
                continue;
            s->column[row + (int)i] += held * mode->share[u] * early;
            if (i + 2 < problem->points)
                s->column[row + (int)i + 1] += held * mode->share[u] * late;
        }
    }
}

/* Appends the column of a schedule of the job, which hold() made, or drops it if it cannot lower the program's value.
 */
static int add_column(struct search *s, uint32_t job, double cost, int place)
{
    double reduced = cost;
    if (reserve(s))
        return ADL_ENOMEM;
    s->column[job] = 1;
    const int start = s->entries;
    int end = start;
    for (int r = 0; r < s->rows; r++) {
        if (s->column[r] <= 0)
            continue;
        reduced -= s->column[r] * s->duals[r];
        s->index[end] = r;
        s->value[end++] = s->column[r];
        s->column[r] = 0;
    }
    if (reduced >= -LEAST_GAIN * cost)
        return 0;
    s->start[s->count] = start;
    s->cost[s->count] = cost;
    s->lower[s->count] = 0;
    s->upper[s->count] = HUGE_VAL;
    s->basis[s->count++] = (unsigned char)place;
    s->start[s->count] = s->entries = end;
    return 0;
}

static int add_run(struct search *s, uint32_t j, const struct adl_time_index_mode *mode, double start, int place)
{
    const struct adl_time_index_job *job = &s->problem->jobs[j];
    const double rest = job->fixed ? mode->run : mode->run / 2 + adl_job_cost_half_run(s->problem, job);
    hold(s, mode, start, start + mode->run, 1);
    return add_column(s, j, start - job->release + rest, place);
}

static int add_pieces(struct search *s, uint32_t j, uint32_t count)
{
    const struct adl_time_index_job *job = &s->problem->jobs[j];
    double cost = adl_job_cost_half_run(s->problem, job);
    for (uint32_t i = 0; i < count; i++) {
        const struct adl_job_piece *piece = &s->scratch.pieces[i];
        cost += piece->progress * ((piece->from + piece->to) / 2 - job->release);
        hold(s, piece->mode, piece->from, piece->to, piece->progress * piece->mode->run / (piece->to - piece->from));
    }
    return add_column(s, j, cost, ADL_LP_AT_LOWER);
}

/* Starts in each mode at the release and ever later; after the mesh, where all is free, they are a basis. */
static int add_first_columns(struct search *s)
{
    const struct adl_time_index_problem *problem = s->problem;
    const double end = problem->mesh[problem->points - 1];
    for (uint32_t j = 0; j < problem->job_count; j++) {
        const struct adl_time_index_job *job = &problem->jobs[j];
        const struct adl_time_index_mode *modes = &problem->modes[job->mode_first], *fastest = modes;
        for (uint32_t m = 0; m < job->mode_count; m++) {
            double later = 0;
            fastest = modes[m].run < fastest->run ? &modes[m] : fastest;
            for (int i = 0; i < FIRST_STARTS && job->release + later < end; i++) {
                if (add_run(s, j, &modes[m], job->release + later, ADL_LP_AT_LOWER))
                    return ADL_ENOMEM;
                later = 2 * later + modes[m].run / 2;
            }
        }
        if (add_run(s, j, fastest, job->release > end ? job->release : end, ADL_LP_BASIC))
            return ADL_ENOMEM;
    }
    return 0;
}

/* ---- rows ---- */

/* What is held of one pool is never less than of the other. */
static bool implies(const struct adl_time_index_problem *problem, uint32_t pool, uint32_t other)
{
    for (uint32_t m = 0; m < problem->mode_count; m++) {
        const struct adl_time_index_mode *mode = &problem->modes[m];
        double here = 0, there = 0;
        for (uint32_t u = 0; u < mode->use_count; u++) {
            here += mode->pool[u] == pool ? mode->share[u] : 0;
            there += mode->pool[u] == other ? mode->share[u] : 0;
        }
        if (there > here)
            return false;
    }
    return true;
}

/* Of pools that imply each other the first has rows. */
static bool is_implied(const struct adl_time_index_problem *problem, uint32_t pool)
{
    for (uint32_t other = 0; other < problem->pool_count; other++)
        if (other != pool && implies(problem, other, pool) && (other < pool || !implies(problem, pool, other)))
            return true;
    return false;
}

static void number_rows(struct search *s)
{
    const struct adl_time_index_problem *problem = s->problem;
    s->rows = (int)problem->job_count;
    for (uint32_t k = 0; k < problem->pool_count; k++) {
        const bool implied = is_implied(problem, k);
        s->pool_row[k] = implied ? NO_ROW : s->rows;
        s->rows += implied ? 0 : (int)problem->points - 1;
    }
}

/* The integral of the function that belongs to a point. */
static double weight_of(const struct adl_time_index_problem *problem, uint32_t point)
{
    const double left = point > 0 ? problem->mesh[point - 1] : problem->mesh[point];
    return (problem->mesh[point + 1] - left) / 2;
}

static void set_rows(struct search *s)
{
    const struct adl_time_index_problem *problem = s->problem;
    for (int r = 0; r < s->rows; r++) {
        const bool of_job = r < (int)problem->job_count;
        const uint32_t point = of_job ? 0 : (uint32_t)(r - (int)problem->job_count) % (problem->points - 1);
        s->row_lower[r] = of_job ? 1 : -HUGE_VAL;
        s->row_upper[r] = of_job ? 1 : weight_of(problem, point);
        s->row_place[r] = of_job ? ADL_LP_AT_LOWER : ADL_LP_BASIC;
        s->duals[r] = of_job ? HUGE_VAL : 0; /* at first any column lowers the value */
    }
}

/* ---- rounds ---- */

static struct adl_lp_answer solve(struct search *s, uint32_t iterations)
{
    const struct adl_lp_problem program = {.rows = s->rows,
                                           .columns = s->count,
                                           .start = s->start,
                                           .index = s->index,
                                           .value = s->value,
                                           .column_lower = s->lower,
                                           .column_upper = s->upper,
                                           .objective = s->cost,
                                           .row_lower = s->row_lower,
                                           .row_upper = s->row_upper};
    memcpy(s->basis + s->count, s->row_place, (size_t)s->rows);
    const struct adl_lp_answer answer = adl_lp_solve(s->lp, &program, iterations, s->basis, s->amounts);
    memcpy(s->row_place, s->basis + s->count, (size_t)s->rows);
    adl_lp_prices(s->lp, s->duals);
    return answer;
}

/* The prices of the program, drawn towards the best known, which makes them vary less from round to round. */
static void set_prices(struct search *s, double keep)
{
    const struct adl_time_index_problem *problem = s->problem;
    for (uint32_t k = 0; k < problem->pool_count; k++)
        for (uint32_t i = 0; i + 1 < problem->points; i++) {
            const size_t at = (size_t)k * problem->points + i;
            const double dual = s->pool_row[k] == NO_ROW ? 0 : -s->duals[s->pool_row[k] + (int)i];
            s->price[at] = keep * s->best_price[at] + (1 - keep) * (isfinite(dual) && dual > 0 ? dual : 0);
        }
}

/* What a job costs at least, and the columns that would lower the program's value. */
static int price_job(struct search *s, uint32_t j, double *ret_cost)
{
    const struct adl_pool_prices prices = {s->problem, s->price};
    const struct adl_time_index_job *job = &s->problem->jobs[j];
    uint32_t pieces;
    *ret_cost = HUGE_VAL;
    if (!job->fixed) {
        *ret_cost = adl_job_cost_preemptive(&prices, job, &s->scratch, &pieces);
        return add_pieces(s, j, pieces);
    }
    for (uint32_t m = 0; m < job->mode_count; m++) {
        const struct adl_time_index_mode *mode = &s->problem->modes[job->mode_first + m];
        double start;
        const double cost = adl_job_cost_fixed(&prices, job, mode, &start);
        *ret_cost = cost < *ret_cost ? cost : *ret_cost;
        if (add_run(s, j, mode, start, ADL_LP_AT_LOWER))
            return ADL_ENOMEM;
    }
    return 0;
}

/* The bound that the prices prove. */
static int evaluate(struct search *s, double *ret)
{
    const struct adl_time_index_problem *problem = s->problem;
    double sum = 0, cost;
    for (uint32_t k = 0; k < problem->pool_count; k++)
        for (uint32_t i = 0; i + 1 < problem->points; i++)
            sum -= s->price[(size_t)k * problem->points + i] * weight_of(problem, i);
    for (uint32_t j = 0; j < problem->job_count; j++) {
        if (price_job(s, j, &cost))
            return ADL_ENOMEM;
        sum += cost;
    }
    *ret = sum;
    return 0;
}

/* Prices that are drawn towards the best may yield no column although the program's own would: then these are next. */
static int run_rounds(struct search *s, const struct adl_time_index_limits *limits, double *ret_flow)
{
    const size_t prices = (size_t)s->problem->pool_count * s->problem->points;
    uint32_t iterations = limits->iterations;
    double bound, keep = 0;
    int status = evaluate(s, ret_flow); /* at prices of 0 */
    for (uint32_t round = 0; status == 0 && round < limits->rounds; round++) {
        const struct adl_lp_answer answer = solve(s, iterations);
        const int columns = s->count;
        set_prices(s, keep);
        status = evaluate(s, &bound);
        if (bound > *ret_flow) {
            *ret_flow = bound;
            memcpy(s->best_price, s->price, prices * sizeof *s->price);
        }
        iterations -= answer.iterations < iterations ? answer.iterations : iterations;
        const bool none = s->count == columns;
        if (answer.outcome != ADL_LP_OPTIMAL || iterations == 0 || (none && keep == 0) ||
            answer.objective - *ret_flow <= limits->gap * answer.objective)
            break;
        keep = none ? 0 : KEEP;
    }
    return status;
}

static int allocate(struct search *s)
{
    const struct adl_time_index_problem *problem = s->problem;
    const size_t prices = (size_t)problem->pool_count * problem->points + 1;
    const size_t pieces = adl_job_cost_pieces(problem);
    uint32_t modes = 0;
    for (uint32_t j = 0; j < problem->job_count; j++)
        modes = problem->jobs[j].mode_count > modes ? problem->jobs[j].mode_count : modes;
    s->pool_row = calloc(problem->pool_count + 1, sizeof *s->pool_row);
    if (!s->pool_row)
        return ADL_ENOMEM;
    number_rows(s);
    const size_t rows = (size_t)s->rows + 1;
    s->row_lower = calloc(rows, sizeof *s->row_lower);
    s->row_upper = calloc(rows, sizeof *s->row_upper);
    s->duals = calloc(rows, sizeof *s->duals);
    s->column = calloc(rows, sizeof *s->column);
    s->row_place = calloc(rows, 1);
    s->price = calloc(prices, sizeof *s->price);
    s->best_price = calloc(prices, sizeof *s->best_price);
    s->scratch.pieces = calloc(pieces, sizeof *s->scratch.pieces);
    s->scratch.times = calloc(pieces, sizeof *s->scratch.times);
    s->scratch.cost = calloc(pieces * (modes + 1), sizeof *s->scratch.cost);
    if (!s->row_lower || !s->row_upper || !s->duals || !s->column || !s->row_place || !s->price || !s->best_price ||
        !s->scratch.pieces || !s->scratch.times || !s->scratch.cost)
        return ADL_ENOMEM;
    return adl_lp_create(&s->lp);
}

static void clear(struct search *s)
{
    void *const all[] = {s->pool_row,     s->row_lower, s->row_upper,  s->duals,          s->column,
                         s->row_place,    s->price,     s->best_price, s->scratch.pieces, s->scratch.times,
                         s->scratch.cost, s->start,     s->index,      s->value,          s->cost,
                         s->lower,        s->upper,     s->amounts,    s->basis};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    adl_lp_destroy(s->lp);
}

int adl_time_index_bound(const struct adl_time_index_problem *problem, const struct adl_time_index_limits *limits,
                         double *ret_flow)
{
    struct search s = {.problem = problem};
    int status = allocate(&s);
    if (status == 0) {
        set_rows(&s);
        status = add_first_columns(&s);
    }
    if (status == 0)
        status = run_rounds(&s, limits, ret_flow);
    clear(&s);
    return status;
}
