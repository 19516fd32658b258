/* power_guard: keeps what all GPUs draw below a limit, where the integer program alone would not: its moves take time,
 * some of them find no place, and predictions of power err. */
#ifndef ADLRO_POLICY_POWER_GUARD_H
#define ADLRO_POLICY_POWER_GUARD_H

#include "model/plan.h"
#include "policy/gogh/ilp_model.h"

struct adl_power_guard {
    double limit_w; /* of all GPUs; 0 = none */
    double over;    /* by which share of the predicted draw the measured one was higher, lately */
};

/* What plans may count on: the limit less what predictions fell short of lately; 0 = no limit. */
double adl_power_guard_limit_w(const struct adl_power_guard *guard);

/* Predicted draw of all GPUs as they are, with the caps of the plan, which act at once; plan may be NULL. */
double adl_power_guard_drawn_w(const struct adl_cost_model *cost_model, const struct adl_state *state,
                               const struct adl_plan *plan);

/* After each decision's readings, if there are new ones of all GPUs. True: they exceed the limit, so plan again. */
bool adl_power_guard_read(struct adl_power_guard *guard, const struct adl_cost_model *cost_model,
                          const struct adl_state *state);

/* Adds what is missing in a plan to keep the limit: jobs without an SLA are capped, then stopped, then the others are
 * capped, then stopped; each time those whose progress is worth least for their power first. 0 or ADL_EREFUSED. */
int adl_power_guard_enforce(const struct adl_power_guard *guard, const struct adl_cost_model *cost_model,
                            const struct adl_ilp_model *ilp, const struct adl_state *state, struct adl_plan *plan);

/* Caps, then stops jobs without an SLA until more_w more could be drawn, or until there are no more of them. A cap acts
 * at once, the power of a stopped job is available once it has left. */
void adl_power_guard_make_room(const struct adl_power_guard *guard, const struct adl_cost_model *cost_model,
                               const struct adl_ilp_model *ilp, const struct adl_state *state, double more_w,
                               struct adl_plan *plan);

#endif
