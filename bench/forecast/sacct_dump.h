/* sacct_dump: an output of Slurm's sacct that never was: jobs like those of campus512, for 64 equal GPUs. */
#ifndef ADLRO_BENCH_SACCT_DUMP_H
#define ADLRO_BENCH_SACCT_DUMP_H

#include "base/error.h"

#include <stdint.h>

#define SACCT_DUMP_TEMPLATE "/tmp/adlro-sacct-XXXXXX"

/* At which rate of submissions so many jobs of a seed load the GPUs as they should. */
int sacct_dump_rate(uint64_t jobs, uint64_t seed, double *ret_per_h, struct adl_error *err);

/* Writes so many jobs of a seed to a new file, whose name it completes. */
int sacct_dump_write(char *path, uint64_t jobs, uint64_t seed, double per_h, struct adl_error *err);

#endif
