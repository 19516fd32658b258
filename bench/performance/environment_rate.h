/* environment_rate: how many decisions environments take for each second of processor time. */
#ifndef ADLRO_BENCH_ENVIRONMENT_RATE_H
#define ADLRO_BENCH_ENVIRONMENT_RATE_H

#include <stdint.h>

/* Random actions in count environments of a scenario of the program, stepped side by side. observation: enum
 * adlro_observation. */
double environment_rate(const char *scenario, int observation, uint32_t count, uint64_t decisions);

#endif
