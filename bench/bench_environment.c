/* bench_environment: how many decisions a second environments take, one alone and many side by side, by random actions.
 * A bar that is missed is marked and makes it exit 1. */
#include "environment_rate.h"

#include <adlro/adlro.h>
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
    const int planned = ADLRO_OBSERVATION_ALL, plain = ADLRO_OBSERVATION_PLAIN;
    const double one = environment_rate(PAPER16, planned, 1, 50000),
                 many = environment_rate(PAPER16, planned, 256, 150000),
                 mixed = environment_rate(MIXED64, planned, 1, 20000),
                 plain_one = environment_rate(PAPER16, plain, 1, 500000),
                 plain_many = environment_rate(PAPER16, plain, 256, 500000);
    printf("decisions for each second of processor time, random actions\n");
    printf("paper16, one environment          %9.0f\n", one);
    printf("paper16, 256 environments         %9.0f   %.2f of one (bar 0.90: %s)\n", many, many / one,
           verdict(many >= 0.9 * one));
    printf("mixed64, one environment          %9.0f   %.2f of paper16 (bar 0.33: %s)\n", mixed, mixed / one,
           verdict(3 * mixed >= one));
    printf("paper16 plain, one environment    %9.0f   %.2f M on two cores (bar 1 M: %s)\n", plain_one, 2e-6 * plain_one,
           verdict(2 * plain_one >= 1e6));
    printf("paper16 plain, 256 environments   %9.0f   %.2f of one\n", plain_many, plain_many / plain_one);
    return missed > 0;
}
