/* energy: what the energy of a job on a GPU type costs, as a share of the time that it runs there.
 *
 * The energy is what its GPUs draw beyond idle, and an equal share, for each job that waits or runs, of what idle GPUs
 * draw: they idle for as long as jobs are there. The last job pays for the whole cluster, so it runs on fast GPUs. No
 * job pays for a cluster that is full. Energy is priced by the objective's weight
 * relative to the typical draw of a job: with weight 1 the energy of a typical job costs 0.95 of its run time. Loads
 * are learned from power readings (predict/loads.h). */
#ifndef ADLRO_POLICY_ADLRO_ENERGY_H
#define ADLRO_POLICY_ADLRO_ENERGY_H

#include "base/error.h"
#include "model/event.h"
#include "state/state.h"

struct adl_energy;

/* weight: of energy, relative to time; 0: it costs nothing. switch_us: how long a job reads its checkpoint. 0 or
 * ADL_ENOMEM; what follows allocates nothing. */
int adl_energy_create(const struct adl_cluster *cluster, double weight, int64_t switch_us, struct adl_energy **ret);
void adl_energy_destroy(struct adl_energy *energy);                         /* accepts NULL */
void adl_energy_copy(struct adl_energy *to, const struct adl_energy *from); /* of the same cluster */

/* Learns from an event, before the event changes the state. */
void adl_energy_observe(struct adl_energy *energy, const struct adl_event *event, const struct adl_state *state);

/* A new decision: sets what idle GPUs draw for each job. */
void adl_energy_begin(struct adl_energy *energy, const struct adl_state *state);

/* NULL if energy costs nothing. */
const struct adl_energy *adl_energy_priced(const struct adl_energy *energy);

/* The cost of the job's energy on a type, for each second that it runs there, in seconds: its own, and that of others
 * who want the type. type_price: what one GPU of it costs without energy. */
double adl_energy_price(const struct adl_energy *energy, const struct adl_job_spec *spec, uint32_t type,
                        double type_price);

/* The same while a job waits: its share of what idle GPUs draw. */
double adl_energy_wait_price(const struct adl_energy *energy);

#endif
