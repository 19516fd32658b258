/* power: the estimated draw of a GPU and its slowdown under a power cap, from the specification and from telemetry.
 *
 * Three states: no process has it open (idle), a process holds it and does nothing (context), it works. At work it
 * draws context + (max - context) * load, where load is a property of the job and is measured (predict/loads.h); a cap
 * below that limits the draw and slows the work, by the law fitted to Zeus's measurements (docs/power.md). */
#ifndef ADLRO_PREDICT_POWER_H
#define ADLRO_PREDICT_POWER_H

#include "model/cluster.h"
#include "model/power_law.h"

/* Fitted on four types of GPU (bench/run power). */
extern const struct adl_power_law adl_power_law_fitted;

/* Draw of a GPU that works under this load, 0..1, uncapped (cap_w 0) or capped. */
double adl_power_draw_w(const struct adl_gpu_type *type, double load, double cap_w);

/* Speed under the cap relative to without, 0..1. */
double adl_power_cap_speed(const struct adl_gpu_type *type, double load, double cap_w);

/* The load that explains a measured uncapped draw. */
double adl_power_load(const struct adl_gpu_type *type, double power_w);

/* The same for a draw under a cap; if several loads explain it, because the cap is reached, the least. */
double adl_power_load_capped(const struct adl_gpu_type *type, double power_w, double cap_w);

/* Load of two jobs together on one GPU, each slowed to these shares of its speed alone. Assumed, not measured: a step
 * costs the same energy beside a neighbour as alone, so loads add up at the reduced speeds. */
double adl_power_load_of_pair(double load_a, double speed_a, double load_b, double speed_b);

#endif
