/* shadowing: the service's shadow (twin/shadow.h) and its gate (twin/gate.h): a candidate is compared with the policy
 * in force, promoted, and rolled back.
 *
 * The deciding thread records windows, judges, and changes policies. A thread of low priority plays. All functions are
 * for the deciding thread, with the service state's lock held, unless they say otherwise. */
#ifndef ADLRO_SERVICE_SHADOWING_H
#define ADLRO_SERVICE_SHADOWING_H

#include "base/json.h"
#include "base/text.h"
#include "service/shadow_candidate.h"
#include "twin/gate.h"

struct adl_service_state;

struct adl_shadowing;

int adl_shadowing_create(struct adl_service_state *shared, struct adl_shadowing **ret, struct adl_error *err);
void adl_shadowing_destroy(struct adl_shadowing *shadowing); /* accepts NULL; ends the thread; after the last event */
struct adl_observer adl_shadowing_observer(struct adl_shadowing *shadowing); /* of each live engine */

/* The candidate shadows from now on, in place of another. Refused while one is promoted. */
int adl_shadowing_start(struct adl_shadowing *shadowing, const struct adl_shadow_candidate *candidate,
                        struct adl_error *err);
/* A promoted candidate is rolled back: the caller then changes the policy if *ret_changes. */
int adl_shadowing_stop(struct adl_shadowing *shadowing, bool *ret_changes, struct adl_error *err);
bool adl_shadowing_automatic(const struct adl_shadowing *shadowing);

/* 0, or ADL_EREFUSED with the numbers. The caller then changes the policy to adl_shadowing_promoted. */
int adl_shadowing_promote(struct adl_shadowing *shadowing, bool force, struct adl_error *err);

/* The promoted policy and its configuration; NULL: the configured one is in force. */
const struct adl_policy_ops *adl_shadowing_promoted(const struct adl_shadowing *shadowing,
                                                    struct adl_policy_config *ret_config);

/* Another engine is in force. read: the configuration was read again, which ends shadow and promotion. */
void adl_shadowing_change(struct adl_shadowing *shadowing, bool read);

/* Between two decisions: enum adl_gate_action that is to be taken, with its reason. */
int adl_shadowing_watch(struct adl_shadowing *shadowing, char *ret_text, size_t size);

/* Its state as bytes, if it has changed since they were last asked for; and back, before the first engine. */
bool adl_shadowing_encode(struct adl_shadowing *shadowing, struct adl_text *ret);
int adl_shadowing_decode(struct adl_shadowing *shadowing, const void *bytes, size_t size, struct adl_error *err);

/* From any thread, with the service state's lock. */
void adl_shadowing_view(struct adl_json *json, const struct adl_service_state *shared);

struct adl_shadowing_counts {
    bool on;
    int stage; /* enum adl_gate_stage */
    uint64_t windows, promotions, rollbacks;
    struct adl_shadow_change change; /* of the mean JCT */
};
struct adl_shadowing_counts adl_shadowing_counts(const struct adl_shadowing *shadowing);

#endif
