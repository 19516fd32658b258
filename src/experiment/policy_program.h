/* policy_program: a policy as a program of its own, in any language, that answers on its standard input and output what
 * to do (docs/policies.md has the protocol). One process for each run. */
#ifndef ADLRO_EXPERIMENT_POLICY_PROGRAM_H
#define ADLRO_EXPERIMENT_POLICY_PROGRAM_H

#include "base/error.h"

#include <adlro/policy.h>

struct adl_policy_program;

/* A file that ends in .py is given to python3, another one is executed itself. What is wrong with it, or NULL. */
const char *adl_policy_program_fault(const char *path);

int adl_policy_program_start(const char *path, uint64_t seed, struct adl_policy_program **ret, struct adl_error *err);
void adl_policy_program_end(struct adl_policy_program *program); /* accepts NULL */

/* As decide() of struct adlro_policy. Negative: it has ended, said something else, or not answered for a minute. */
int adl_policy_program_decide(struct adl_policy_program *program, const struct adlro_policy_view *view);

#endif
