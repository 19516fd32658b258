#include "twin/gate.h"

#include "twin/window.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const adl_gate_stage_names[ADL_GATE_STAGES] = {"closed", "open", "on trial", "confirmed", "rolled back"};

void adl_gate_begin(struct adl_gate *gate, const struct adl_gate_terms *terms)
{
    *gate = (struct adl_gate){.terms = *terms};
    snprintf(gate->reason, sizeof gate->reason,
             "no window was played yet: the first half of one takes %d submissions or more, the second as long",
             ADL_WINDOW_JOBS);
}

static int enter(struct adl_gate *gate, int stage, int action)
{
    gate->stage = stage;
    return action;
}

static struct adl_interval interval_of(const struct adl_gate *gate, const struct adl_shadow_evidence *evidence,
                                       int figure)
{
    return adl_shadow_change_of(evidence, figure, gate->terms.alpha).interval;
}

/* A guarantee that the candidate broke, or NULL. */
static const char *broken_by_candidate(const struct adl_gate *gate, const struct adl_shadow_evidence *evidence)
{
    if (evidence->refused > 0)
        return "commands of the candidate were not valid";
    if (interval_of(gate, evidence, ADL_SHADOW_SLA).lo > 0)
        return "the candidate misses more deadlines";
    if (interval_of(gate, evidence, ADL_SHADOW_P99).lo > gate->terms.tail_loss)
        return "the candidate's 99th percentile is worse by more than is allowed";
    return NULL;
}

/* The same of the promoted policy, while the one before shadows it. */
static const char *broken_by_promoted(const struct adl_gate *gate, const struct adl_shadow_evidence *evidence)
{
    if (interval_of(gate, evidence, ADL_SHADOW_SLA).hi < 0)
        return "the promoted policy misses more deadlines than the one before";
    if (interval_of(gate, evidence, ADL_SHADOW_P99).hi < -gate->terms.tail_loss)
        return "the 99th percentile of the promoted policy is worse by more than is allowed";
    return NULL;
}

static int judge_candidate(struct adl_gate *gate, const struct adl_shadow_evidence *evidence)
{
    const struct adl_interval change = interval_of(gate, evidence, ADL_SHADOW_JCT);
    const char *broken = broken_by_candidate(gate, evidence);
    const bool gains = change.hi < 0;
    const int before = gate->stage;
    if (broken)
        snprintf(gate->reason, sizeof gate->reason, "%s", broken);
    else if (!gains)
        snprintf(gate->reason, sizeof gate->reason,
                 change.lo > 0 ? "the candidate is worse" : "a gain is not shown yet");
    else if (evidence->span_s < gate->terms.time_s)
        snprintf(gate->reason, sizeof gate->reason, "a gain is shown over %.1f of %.1f days", evidence->span_s / 86400,
                 gate->terms.time_s / 86400);
    else
        snprintf(gate->reason, sizeof gate->reason, "a gain is shown, and no guarantee was broken");
    const bool open = !broken && gains && evidence->span_s >= gate->terms.time_s;
    if (open == (before == ADL_GATE_OPEN))
        return ADL_GATE_NOTHING;
    return enter(gate, open ? ADL_GATE_OPEN : ADL_GATE_CLOSED, open ? ADL_GATE_MAY_PROMOTE : ADL_GATE_NOTHING);
}

static int judge_promoted(struct adl_gate *gate, const struct adl_shadow_evidence *evidence)
{
    const struct adl_interval change = interval_of(gate, evidence, ADL_SHADOW_JCT);
    const char *broken = broken_by_promoted(gate, evidence);
    if (broken || change.hi < 0) {
        snprintf(gate->reason, sizeof gate->reason, "%s", broken ? broken : "the policy before would have done better");
        return enter(gate, ADL_GATE_ROLLED_BACK, ADL_GATE_ROLL_BACK);
    }
    if (evidence->span_s < gate->terms.trial_s)
        return ADL_GATE_NOTHING;
    snprintf(gate->reason, sizeof gate->reason, "no loss was shown over %.1f days", gate->terms.trial_s / 86400);
    return enter(gate, ADL_GATE_CONFIRMED, ADL_GATE_CONFIRM);
}

int adl_gate_judge(struct adl_gate *gate, const struct adl_shadow_evidence *evidence)
{
    if (gate->stage == ADL_GATE_ON_TRIAL)
        return judge_promoted(gate, evidence);
    return gate->stage <= ADL_GATE_OPEN ? judge_candidate(gate, evidence) : ADL_GATE_NOTHING;
}

int adl_gate_try(struct adl_gate *gate, const struct adl_trial *trial)
{
    if (gate->stage != ADL_GATE_ON_TRIAL)
        return ADL_GATE_NOTHING;
    const double looks = (double)++gate->looks;
    const double alpha = gate->terms.alpha / (looks * (looks + 1)); /* their sum over all looks is alpha */
    const struct adl_interval change = adl_confidence_interval(&trial->change, alpha);
    const double all = trial->in_force > 0 ? trial->in_force : 1;
    if (change.hi > -gate->terms.trial_loss * all)
        return ADL_GATE_NOTHING;
    snprintf(gate->reason, sizeof gate->reason,
             "looking ahead, the policy before does better: time in the system %.0f %% less (%.0f to %.0f)",
             -100 * trial->change.mean / all, -100 * change.hi / all, -100 * change.lo / all);
    return enter(gate, ADL_GATE_ROLLED_BACK, ADL_GATE_ROLL_BACK);
}

int adl_gate_promote(struct adl_gate *gate, const struct adl_shadow_evidence *evidence, bool force,
                     struct adl_error *err)
{
    const struct adl_shadow_change change = adl_shadow_change_of(evidence, ADL_SHADOW_JCT, gate->terms.alpha);
    if (gate->stage != ADL_GATE_CLOSED && gate->stage != ADL_GATE_OPEN)
        return adl_fail(err, ADL_EREFUSED, "no candidate shadows: its state is %s", adl_gate_stage_names[gate->stage]);
    if (gate->stage == ADL_GATE_CLOSED && !force && evidence->windows == 0)
        return adl_fail(err, ADL_EREFUSED, "%s; a lower mean JCT has to be shown over %.1f days", gate->reason,
                        gate->terms.time_s / 86400);
    if (gate->stage == ADL_GATE_CLOSED && !force) {
        char between[80] = "too few for an interval";
        if (change.interval.hi < HUGE_VAL)
            snprintf(between, sizeof between, "between %+.1f and %+.1f %%", 100 * change.interval.lo,
                     100 * change.interval.hi);
        return adl_fail(
            err, ADL_EREFUSED,
            "%s: after %llu windows (%.1f days) mean JCT changes by %+.1f %%, %s; it has to be below 0 over "
            "%.1f days",
            gate->reason, (unsigned long long)evidence->windows, evidence->span_s / 86400, 100 * change.mean, between,
            gate->terms.time_s / 86400);
    }
    snprintf(gate->reason, sizeof gate->reason,
             force && gate->stage == ADL_GATE_CLOSED ? "promoted by force" : "promoted; the policy before shadows it");
    gate->looks = 0;
    gate->stage = ADL_GATE_ON_TRIAL;
    return 0;
}
