/* real: logarithm and exponential that give the same bits on every machine.
 *
 * The C library may choose another code path for another processor, and a last bit that differs would move a job by a
 * microsecond and, with it, a whole run. These use only +, -, *, / in a fixed order. Error below 2 ulp. */
#ifndef ADLRO_BASE_REAL_H
#define ADLRO_BASE_REAL_H

double adl_log(double x); /* x > 0 and finite; -HUGE_VAL for 0 */
double adl_exp(double x); /* saturates to 0 and HUGE_VAL */

/* The same of each of count numbers, in place: a processor works on several at once, one alone it would wait for. */
void adl_log_each(double *x, unsigned count);
void adl_exp_each(double *x, unsigned count);

#endif
