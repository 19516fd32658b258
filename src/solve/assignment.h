/* assignment: minimum-cost matching of rows to columns, each to at most one of the other.
 *
 * Shortest augmenting paths with dual prices: R. Jonker and A. Volgenant, "A shortest augmenting path algorithm for
 * dense and sparse linear assignment problems", Computing 38 (1987), in the rectangular form of D. F. Crouse, "On
 * implementing 2D rectangular assignment algorithms", IEEE Trans. AES 52 (2016). At most rows^2 * columns steps; rows
 * in order of increasing cost need far fewer. */
#ifndef ADLRO_SOLVE_ASSIGNMENT_H
#define ADLRO_SOLVE_ASSIGNMENT_H

#include "base/index.h"

struct adl_assignment; /* scratch for problems up to a stated size */

int adl_assignment_create(uint32_t rows_max, uint32_t columns_max, struct adl_assignment **ret); /* 0 or ADL_ENOMEM */
void adl_assignment_destroy(struct adl_assignment *assignment);                                  /* accepts NULL */

/* cost is [row][column] with rows `columns` apart; HUGE_VAL forbids a pair, every other entry is finite. Writes each
 * row's column to ret_columns (ADL_NONE: none) and returns the sum of their costs. As many rows as possible are
 * matched; of those that compete for too few columns the earlier ones are. Whole numbers whose sums stay below 2^53 are
 * handled without rounding. Allocates nothing.
 *
 * after may be NULL. Else column c is considered only once column after[c] < c is taken (ADL_NONE: at once), which
 * finds the same least cost if no row prefers c to after[c], and saves most of the work if many columns are such
 * alternatives.
 */
double adl_assignment_solve(struct adl_assignment *assignment, const double *cost, uint32_t rows, uint32_t columns,
                            const uint32_t *after, uint32_t *ret_columns);

#endif
