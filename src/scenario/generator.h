/* generator: random scenarios for training and evaluation, as YAML that a person can read. */
#ifndef ADLRO_SCENARIO_GENERATOR_H
#define ADLRO_SCENARIO_GENERATOR_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* GPUs: 8 to 64, 64 to 512, 512 to 2,048; any: the seed chooses one of the three. */
enum adl_generator_size { ADL_GENERATOR_ANY, ADL_GENERATOR_SMALL, ADL_GENERATOR_MEDIUM, ADL_GENERATOR_LARGE };
extern const char *const adl_generator_size_names[]; /* ends with NULL */

/* Seeds below the first are for training, from it on for validation, and from the second on for tests. */
#define ADL_GENERATOR_VALIDATION_SEED 700000
#define ADL_GENERATOR_TEST_SEED       800000

/* Appends a valid scenario for the shipped catalogue. Equal seeds and sizes give equal bytes. worn: with wear,
 * throttling and updates, whatever the seed says, and telemetry that shows them. */
int adl_scenario_generate(uint64_t seed, int size, bool worn, struct adl_text *text, struct adl_error *err);

#endif
