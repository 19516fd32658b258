#include "solve/assignment.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct adl_assignment {
    uint32_t rows_max, columns_max;
    double *row_price;      /* [row] */
    double *column_price;   /* [column] never above 0 */
    double *distance;       /* [column] of the shortest path found to it */
    uint32_t *reached_from; /* [column] the row before it on that path */
    uint32_t *row_of;       /* [column] matched row, or ADL_NONE */
    uint32_t *open;         /* columns not yet settled */
    uint32_t *settled;      /* columns that are, in order: all but the last are matched */
    uint32_t *shown;        /* columns considered: all but those that wait for another to be taken */
    uint32_t shown_count;
    uint32_t *first_waiting; /* [column] of those that wait for it, a chain through next_waiting */
    uint32_t *next_waiting;
};

int adl_assignment_create(uint32_t rows_max, uint32_t columns_max, struct adl_assignment **ret)
{
    struct adl_assignment *self = calloc(1, sizeof *self);
    if (!self)
        return ADL_ENOMEM;
    const size_t columns = (size_t)columns_max + 1;
    self->rows_max = rows_max;
    self->columns_max = columns_max;
    self->row_price = calloc((size_t)rows_max + 1, sizeof *self->row_price);
    self->column_price = calloc(columns, sizeof *self->column_price);
    self->distance = calloc(columns, sizeof *self->distance);
    self->reached_from = calloc(columns, sizeof *self->reached_from);
    self->row_of = calloc(columns, sizeof *self->row_of);
    self->open = calloc(columns, sizeof *self->open);
    self->settled = calloc(columns, sizeof *self->settled);
    self->shown = calloc(columns, sizeof *self->shown);
    self->first_waiting = calloc(columns, sizeof *self->first_waiting);
    self->next_waiting = calloc(columns, sizeof *self->next_waiting);
    if (!self->row_price || !self->column_price || !self->distance || !self->reached_from || !self->row_of ||
        !self->open || !self->settled || !self->shown || !self->first_waiting || !self->next_waiting) {
        adl_assignment_destroy(self);
        return ADL_ENOMEM;
    }
    *ret = self;
    return 0;
}

void adl_assignment_destroy(struct adl_assignment *self)
{
    if (!self)
        return;
    free(self->row_price);
    free(self->column_price);
    free(self->distance);
    free(self->reached_from);
    free(self->row_of);
    free(self->open);
    free(self->settled);
    free(self->shown);
    free(self->first_waiting);
    free(self->next_waiting);
    free(self);
}

/* Improves the distances of open columns by paths through the row; returns the position in `open` of the nearest, among
 * equals one that is not matched. ADL_NONE if none can be reached. */
static uint32_t relax(struct adl_assignment *self, const double *row_cost, uint32_t row, double so_far,
                      uint32_t open_count)
{
    const double offset = so_far - self->row_price[row];
    double least = HUGE_VAL;
    uint32_t nearest = ADL_NONE;
    for (uint32_t i = 0; i < open_count; i++) {
        const uint32_t column = self->open[i];
        const double through = offset + (row_cost[column] - self->column_price[column]);
        if (through < self->distance[column]) {
            self->distance[column] = through;
            self->reached_from[column] = row;
        }
        const double distance = self->distance[column];
        if (distance < least || (distance == least && distance < HUGE_VAL && self->row_of[column] == ADL_NONE &&
                                 self->row_of[self->open[nearest]] != ADL_NONE)) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}

/* Updates the dual prices so that every pair on a shortest path has reduced cost 0. */
static void reprice(struct adl_assignment *self, uint32_t row, double length, uint32_t settled_count)
{
    self->row_price[row] += length;
    for (uint32_t i = 0; i + 1 < settled_count; i++) {
        const uint32_t column = self->settled[i];
        const double saved = length - self->distance[column];
        self->row_price[self->row_of[column]] += saved;
        self->column_price[column] -= saved;
    }
}

/* Matches one more row along a shortest path to a free column; false if there is no path. */
static bool augment(struct adl_assignment *self, const double *cost, uint32_t columns, uint32_t row,
                    uint32_t *ret_columns)
{
    uint32_t open_count = self->shown_count, settled_count = 0, at = row, column;
    double length = 0;
    for (uint32_t i = 0; i < open_count; i++) {
        self->open[i] = self->shown[i];
        self->distance[self->shown[i]] = HUGE_VAL;
    }
    do {
        const uint32_t nearest = relax(self, &cost[(size_t)at * columns], at, length, open_count);
        if (nearest == ADL_NONE)
            return false;
        column = self->open[nearest];
        self->open[nearest] = self->open[--open_count];
        self->settled[settled_count++] = column;
        length = self->distance[column];
        at = self->row_of[column];
    } while (at != ADL_NONE);
    reprice(self, row, length, settled_count);
    for (uint32_t c = self->first_waiting[column]; c != ADL_NONE; c = self->next_waiting[c])
        self->shown[self->shown_count++] = c;
    for (at = ADL_NONE; at != row;) {
        at = self->reached_from[column];
        self->row_of[column] = at;
        const uint32_t given_up = ret_columns[at];
        ret_columns[at] = column;
        column = given_up;
    }
    return true;
}

/* Nothing is matched and all prices are 0; the columns that wait for no other are shown. */
static void begin(struct adl_assignment *self, uint32_t rows, uint32_t columns, const uint32_t *after,
                  uint32_t *ret_columns)
{
    self->shown_count = 0;
    for (uint32_t c = 0; c < columns; c++) {
        self->row_of[c] = self->first_waiting[c] = ADL_NONE;
        self->column_price[c] = 0;
        if (!after || after[c] == ADL_NONE) {
            self->shown[self->shown_count++] = c;
        } else {
            assert(after[c] < c);
            self->next_waiting[c] = self->first_waiting[after[c]];
            self->first_waiting[after[c]] = c;
        }
    }
    for (uint32_t r = 0; r < rows; r++) {
        self->row_price[r] = 0;
        ret_columns[r] = ADL_NONE;
    }
}

double adl_assignment_solve(struct adl_assignment *self, const double *cost, uint32_t rows, uint32_t columns,
                            const uint32_t *after, uint32_t *ret_columns)
{
    assert(rows <= self->rows_max && columns <= self->columns_max);
    begin(self, rows, columns, after, ret_columns);
    double sum = 0;
    for (uint32_t r = 0; r < rows; r++)
        augment(self, cost, columns, r, ret_columns);
    for (uint32_t r = 0; r < rows; r++)
        sum += ret_columns[r] == ADL_NONE ? 0 : cost[(size_t)r * columns + ret_columns[r]];
    return sum;
}
