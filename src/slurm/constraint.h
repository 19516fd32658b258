/* constraint: a job's --constraint: which features its nodes must have: "volta|turing", "a100&(ib|roce)". */
#ifndef ADLRO_SLURM_CONSTRAINT_H
#define ADLRO_SLURM_CONSTRAINT_H

/* 1 if a node with these features ("volta,ib"; NULL = none) satisfies it, 0 if not; ADL_EINVAL if that cannot be
 * decided node by node or from features alone: counts ("ib*2"), brackets, and & beside | without parentheses. NULL or
 * "" is always satisfied. */
int adl_constraint_holds(const char *constraint, const char *features);

#endif
