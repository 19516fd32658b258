/* correction: believed speeds in the state and the belief follow what was found about drift (predict/drift/drift.h). */
#ifndef ADLRO_ENGINE_CORRECTION_H
#define ADLRO_ENGINE_CORRECTION_H

#include "predict/belief.h"
#include "predict/drift/drift.h"
#include "state/state.h"

struct adl_correction {
    struct adl_state *state;
    struct adl_belief *belief;
    struct adl_drift *drift; /* owned; NULL: drift is ignored */
};

void adl_correction_set_gpu(const struct adl_correction *correction, uint32_t gpu, double speed);
void adl_correction_set_type(const struct adl_correction *correction, uint32_t type, double speed);

/* What an event shows, before the state knows of it. */
void adl_correction_learn(const struct adl_correction *correction, const struct adl_event *event);

void adl_correction_inherit(struct adl_correction *correction, struct adl_correction *from);
void adl_correction_believe(const struct adl_correction *correction); /* after the drift was replaced */
void adl_correction_reset(const struct adl_correction *correction);   /* after the state was reset */

#endif
