/* constraint: what a job demands of the features of its nodes, as Slurm writes it: "volta|turing", "a100&(ib|roce)". */
#ifndef ADLRO_SLURM_CONSTRAINT_H
#define ADLRO_SLURM_CONSTRAINT_H

/* 1 if a node with these features ("volta,ib"; NULL = none) is as demanded, 0 if not; ADL_EINVAL for what cannot be
 * judged one node at a time or from features alone: counts ("ib*2"), brackets, and & beside | without parentheses. NULL
 * or "" demands nothing. */
int adl_constraint_holds(const char *constraint, const char *features);

#endif
