#include "solve/job_cost.h"

#include <math.h>
#include <stddef.h>

enum {
    FINE = 4,     /* trapezoids in each interval of the mesh */
    HALVINGS = 40 /* of the interval that has the best v */
};

uint32_t adl_mesh_find(const struct adl_time_index_problem *problem, double time)
{
    uint32_t low = 0, high = problem->points;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (problem->mesh[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- fixed jobs ---- */

/* A time that only moves forward, and the price of what a mode holds then. */
struct cursor {
    const struct adl_pool_prices *prices;
    const struct adl_time_index_mode *mode;
    double time;
    uint32_t at;        /* interval of the mesh */
    double left, slope; /* price at its beginning, and how it grows in it */
};

static double price_at_point(const struct adl_pool_prices *prices, const struct adl_time_index_mode *mode,
                             uint32_t point)
{
    double sum = 0;
    for (uint32_t u = 0; u < mode->use_count; u++)
        sum += mode->share[u] * prices->price[(size_t)mode->pool[u] * prices->problem->points + point];
    return sum;
}

static void enter_interval(struct cursor *cursor, uint32_t at)
{
    const struct adl_time_index_problem *problem = cursor->prices->problem;
    cursor->at = at;
    cursor->left = price_at_point(cursor->prices, cursor->mode, at);
    cursor->slope = 0;
    if (at + 1 < problem->points)
        cursor->slope = (price_at_point(cursor->prices, cursor->mode, at + 1) - cursor->left) /
                        (problem->mesh[at + 1] - problem->mesh[at]);
}

static struct cursor cursor_at(const struct adl_pool_prices *prices, const struct adl_time_index_mode *mode,
                               double time)
{
    struct cursor cursor = {.prices = prices, .mode = mode, .time = time};
    enter_interval(&cursor, adl_mesh_find(prices->problem, time));
    return cursor;
}

static double cursor_price(const struct cursor *cursor)
{
    return cursor->left + cursor->slope * (cursor->time - cursor->prices->problem->mesh[cursor->at]);
}

/* Time until the next point of the mesh. */
static double cursor_room(const struct cursor *cursor)
{
    const struct adl_time_index_problem *problem = cursor->prices->problem;
    return cursor->at + 1 < problem->points ? problem->mesh[cursor->at + 1] - cursor->time : HUGE_VAL;
}

/* Moves by at most the room; `whole` if it is that. */
static void cursor_move(struct cursor *cursor, double by, bool whole)
{
    cursor->time += by;
    if (!whole)
        return;
    cursor->time = cursor->prices->problem->mesh[cursor->at + 1];
    enter_interval(cursor, cursor->at + 1);
}

/* What a run pays that begins at the cursor. */
static double payment(struct cursor cursor, double run)
{
    double sum = 0;
    while (run > 0) {
        const double room = cursor_room(&cursor), step = room < run ? room : run, before = cursor_price(&cursor);
        if (!isfinite(room))
            break; /* prices are 0 from here on */
        cursor_move(&cursor, step, false);
        sum += step * (before + cursor_price(&cursor)) / 2;
        if (step == room)
            enter_interval(&cursor, cursor.at + 1);
        run -= step;
    }
    return sum;
}

/* Between points of the mesh, and points less the run time, the cost of a start is a quadratic function of it. Its
 * derivative is 1 + the price at the end of the run - the price at its start. */
double adl_job_cost_fixed(const struct adl_pool_prices *prices, const struct adl_time_index_job *job,
                          const struct adl_time_index_mode *mode, double *ret_start)
{
    struct cursor start = cursor_at(prices, mode, job->release);
    struct cursor end = cursor_at(prices, mode, job->release + mode->run);
    double cost = mode->run + payment(start, mode->run), least = cost;
    double slope = 1 + cursor_price(&end) - cursor_price(&start);
    *ret_start = start.time;
    while (isfinite(cursor_room(&start))) {
        const double from = start.time, room = cursor_room(&start), end_room = cursor_room(&end);
        const double step = room < end_room ? room : end_room;
        cursor_move(&start, step, room <= end_room);
        cursor_move(&end, step, end_room <= room);
        const double next_slope = 1 + cursor_price(&end) - cursor_price(&start);
        const double part = slope < 0 && next_slope > 0 ? slope / (slope - next_slope) : 1;
        const double there = cost + step * part * (slope + (part < 1 ? 0 : next_slope)) / 2;
        if (there < least) {
            least = there;
            *ret_start = from + step * part;
        }
        cost += step * (slope + next_slope) / 2;
        slope = next_slope;
    }
    return least;
}

/* ---- preemptive jobs ---- */

uint32_t adl_job_cost_pieces(const struct adl_time_index_problem *problem)
{
    return (problem->points - 1) * FINE + 2;
}

double adl_job_cost_half_run(const struct adl_time_index_problem *problem, const struct adl_time_index_job *job)
{
    double least = HUGE_VAL;
    for (uint32_t m = 0; m < job->mode_count; m++) {
        const double run = problem->modes[job->mode_first + m].run;
        least = run < least ? run : least;
    }
    return least / 2;
}

/* The costs c of all modes at the release and at the points after it, FINE in each interval of the mesh. */
struct table {
    const struct adl_time_index_mode *modes;
    uint32_t mode_count, count;
    const double *times;
    const double *cost; /* [time][mode] */
    double release, half;
};

static struct table tabulate(const struct adl_pool_prices *prices, const struct adl_time_index_job *job,
                             const struct adl_job_cost_scratch *scratch)
{
    const struct adl_time_index_problem *problem = prices->problem;
    struct table table = {.modes = &problem->modes[job->mode_first],
                          .mode_count = job->mode_count,
                          .times = scratch->times,
                          .cost = scratch->cost,
                          .release = job->release,
                          .half = adl_job_cost_half_run(problem, job)};
    const uint32_t first = adl_mesh_find(problem, job->release);
    scratch->times[table.count++] = job->release;
    for (uint32_t i = first; i + 1 < problem->points; i++)
        for (int f = 1; f <= FINE; f++) {
            const double from = problem->mesh[i], to = problem->mesh[i + 1];
            const double time = f == FINE ? to : from + (to - from) * f / FINE;
            if (time > job->release)
                scratch->times[table.count++] = time;
        }
    for (uint32_t m = 0; m < job->mode_count; m++) {
        struct cursor cursor = cursor_at(prices, &table.modes[m], job->release);
        for (uint32_t i = 0; i < table.count; i++) {
            while (cursor_room(&cursor) <= table.times[i] - cursor.time)
                cursor_move(&cursor, 0, true);
            cursor.time = table.times[i];
            scratch->cost[(size_t)i * job->mode_count + m] =
                table.times[i] - job->release + table.half + table.modes[m].run * cursor_price(&cursor);
        }
    }
    return table;
}

/* max(0, max over modes of (v - c) / p) at a point, and the mode, NULL for 0. */
static double gain_at(const struct table *table, uint32_t point, double v, const struct adl_time_index_mode **ret)
{
    double gain = 0;
    *ret = NULL;
    for (uint32_t m = 0; m < table->mode_count; m++) {
        const double there = (v - table->cost[(size_t)point * table->mode_count + m]) / table->modes[m].run;
        if (there > gain) {
            gain = there;
            *ret = &table->modes[m];
        }
    }
    return gain;
}

/* Between a point at which modes gain and one at which none does: the part of the way at which the last one gains 0. */
static double reach(const struct table *table, uint32_t point, uint32_t zero, double v)
{
    double part = 0;
    for (uint32_t m = 0; m < table->mode_count; m++) {
        const double left = v - table->cost[(size_t)point * table->mode_count + m];
        const double lack = table->cost[(size_t)zero * table->mode_count + m] - v;
        const double there = left > 0 ? left / (left + (lack > 0 ? lack : 0)) : 0;
        part = there > part ? there : part;
    }
    return part;
}

struct sum {
    double integral;              /* of the gains */
    double progress;              /* how fast it grows with v: what the job does where it gains */
    struct adl_job_piece *pieces; /* filled in if not NULL */
    uint32_t piece_count;
};

static void add_piece(struct sum *sum, struct adl_job_piece piece, double gains)
{
    sum->integral += (piece.to - piece.from) * gains / 2;
    sum->progress += piece.progress;
    if (sum->pieces && piece.progress > 0)
        sum->pieces[sum->piece_count++] = piece;
}

/* Gains are convex between two points, so a trapezoid over the part where they are not 0 has no smaller area. */
static void add_gains(const struct table *table, uint32_t point, double v, struct sum *sum)
{
    const struct adl_time_index_mode *mode, *next_mode;
    const double gain = gain_at(table, point, v, &mode), next = gain_at(table, point + 1, v, &next_mode);
    struct adl_job_piece piece = {.from = table->times[point], .to = table->times[point + 1]};
    const double width = piece.to - piece.from;
    if (!mode && !next_mode)
        return;
    if (!next_mode)
        piece.to = piece.from + width * reach(table, point, point + 1, v);
    if (!mode)
        piece.from = piece.to - width * reach(table, point + 1, point, v);
    piece.mode = gain > next ? mode : next_mode;
    const double rates = 1 / (mode ? mode : next_mode)->run + 1 / (next_mode ? next_mode : mode)->run;
    piece.progress = (piece.to - piece.from) * rates / 2;
    add_piece(sum, piece, gain + next);
}

/* From the last point on all is free, so the fastest mode is the best. */
static void add_tail(const struct table *table, double v, struct sum *sum)
{
    const struct adl_time_index_mode *mode;
    const double from = table->times[table->count - 1], gain = gain_at(table, table->count - 1, v, &mode);
    if (mode)
        add_piece(sum, (struct adl_job_piece){from, from + gain * mode->run, gain, mode}, gain);
}

/* The bound for one v. */
static double bound_by(const struct table *table, double v, struct sum *sum)
{
    uint32_t i = 0;
    while (i + 1 < table->count && v > table->times[i] - table->release + table->half)
        add_gains(table, i++, v, sum);
    if (i + 1 == table->count)
        add_tail(table, v, sum);
    return v - sum->integral;
}

double adl_job_cost_preemptive(const struct adl_pool_prices *prices, const struct adl_time_index_job *job,
                               struct adl_job_cost_scratch *scratch, uint32_t *ret_pieces)
{
    const struct table table = tabulate(prices, job, scratch);
    double low = 0, high = table.times[table.count - 1] - job->release + 3 * table.half;
    for (int step = 0; step < HALVINGS; step++) {
        struct sum sum = {0};
        const double v = (low + high) / 2;
        bound_by(&table, v, &sum);
        if (sum.progress < 1)
            low = v;
        else
            high = v;
    }
    struct sum sum = {.pieces = scratch->pieces};
    const double cost = bound_by(&table, high, &sum);
    for (uint32_t i = 0; i < sum.piece_count; i++)
        scratch->pieces[i].progress /= sum.progress;
    *ret_pieces = sum.piece_count;
    return cost;
}
