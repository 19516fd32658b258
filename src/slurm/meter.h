/* meter: what the energy meters of a cluster's nodes measure, by the names of Slurm's plugins. */
#ifndef ADLRO_SLURM_METER_H
#define ADLRO_SLURM_METER_H

/* "gpus": the GPUs and nothing else; "node": these and more; "cpus": not the GPUs. NULL: nothing is measured. types is
 * AcctGatherEnergyType, which may name several plugins, whose figures Slurm adds up. Accepts NULL. */
const char *adl_slurm_meter(const char *types);

#endif
