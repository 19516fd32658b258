/* gate: whether a policy may be promoted, and whether it stays. Numbers in, decisions out: no clock, no world.
 *
 * Closed: the candidate shadows. Open: its gain is shown, and no guarantee was broken. On trial: it decides, and the
 * policy that it replaced shadows it. Then it is confirmed or rolled back. */
#ifndef ADLRO_TWIN_GATE_H
#define ADLRO_TWIN_GATE_H

#include "twin/shadow.h"

enum adl_gate_stage {
    ADL_GATE_CLOSED,
    ADL_GATE_OPEN,
    ADL_GATE_ON_TRIAL,
    ADL_GATE_CONFIRMED,
    ADL_GATE_ROLLED_BACK,
    ADL_GATE_STAGES,
};

extern const char *const adl_gate_stage_names[ADL_GATE_STAGES]; /* "closed", ... */

enum adl_gate_action {
    ADL_GATE_NOTHING,
    ADL_GATE_MAY_PROMOTE, /* it opened */
    ADL_GATE_CONFIRM,
    ADL_GATE_ROLL_BACK,
};

struct adl_gate_terms {
    double alpha;      /* probability of a wrong promotion, and of a wrong roll-back, over all looks */
    double time_s;     /* over which a gain has to have been shown */
    double trial_s;    /* for which a promoted policy is on trial */
    double tail_loss;  /* the 99th percentile may become worse by this share */
    double trial_loss; /* a look ahead that loses more than this share rolls back at once */
};

#define ADL_GATE_TERMS                                                                                                 \
    {                                                                                                                  \
        .alpha = 0.01, .time_s = 7 * 86400.0, .trial_s = 28 * 86400.0, .tail_loss = 0.25, .trial_loss = 0.05           \
    }

struct adl_gate {
    struct adl_gate_terms terms;
    int stage;        /* enum adl_gate_stage */
    uint64_t looks;   /* ahead, while it is on trial */
    char reason[200]; /* why it is where it is */
};

void adl_gate_begin(struct adl_gate *gate, const struct adl_gate_terms *terms);

/* Another window was played. Closed or open: the evidence is the candidate's against the policy in force. On trial: it
 * is that of the policy in force before, which shadows, against the promoted one. */
int adl_gate_judge(struct adl_gate *gate, const struct adl_shadow_evidence *evidence);
int adl_gate_try(struct adl_gate *gate, const struct adl_trial *trial); /* another look ahead, on trial */

/* The candidate is promoted: 0, or ADL_EREFUSED with the numbers if the gate is not open and it is not forced. */
int adl_gate_promote(struct adl_gate *gate, const struct adl_shadow_evidence *evidence, bool force,
                     struct adl_error *err);

#endif
