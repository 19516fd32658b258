/* bench_environment: how many decisions a second environments take, one alone and many side by side, by random actions.
 * A bar that is missed is marked and makes it exit 1. */
#include "environment_rate.h"

#include <stdbool.h>
#include <stdio.h>

#define PAPER16 ADL_SOURCE_DIR "/scenarios/paper16.yaml"
#define MIXED64 ADL_SOURCE_DIR "/scenarios/mixed64.yaml"

static int missed;

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

int main(void)
{
    const double one = environment_rate(PAPER16, 1, 50000), many = environment_rate(PAPER16, 256, 150000),
                 mixed = environment_rate(MIXED64, 1, 20000);
    printf("decisions for each second of processor time, random actions\n");
    printf("paper16, one environment   %9.0f   %.2f M on two cores (bar 1 M: %s)\n", one, 2e-6 * one,
           verdict(2 * one >= 1e6));
    printf("paper16, 256 environments  %9.0f   %.2f of one (bar 0.90: %s)\n", many, many / one,
           verdict(many >= 0.9 * one));
    printf("mixed64, one environment   %9.0f   %.2f of paper16 (bar 0.33: %s)\n", mixed, mixed / one,
           verdict(3 * mixed >= one));
    return missed > 0;
}
