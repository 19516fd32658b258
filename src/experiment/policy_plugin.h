/* policy_plugin: policies from outside the program: shared objects, through include/adlro/policy.h, and programs of
 * their own (experiment/policy_program.h). */
#ifndef ADLRO_EXPERIMENT_POLICY_PLUGIN_H
#define ADLRO_EXPERIMENT_POLICY_PLUGIN_H

#include "policy/policy.h"

struct adl_policy_plugin;

/* Loads and checks one: a shared object if the path ends in .so, which is then loaded, else a program. path outlives
 * it. */
int adl_policy_plugin_load(const char *path, struct adl_policy_plugin **ret, struct adl_error *err);
void adl_policy_plugin_unload(struct adl_policy_plugin *plugin); /* accepts NULL; after its last policy is destroyed */

const struct adl_policy_ops *adl_policy_plugin_ops(const struct adl_policy_plugin *plugin);

#endif
