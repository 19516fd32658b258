/* questions: what-if questions of clients (twin/whatif.h), answered one after the other by a thread that is not the
 * deciding one, from copies of the live engine.
 *
 * Few wait: a client whose question finds the queue full is told to come again. A question that has waited so long that
 * its client would no longer get the answer is not played. */
#ifndef ADLRO_SERVICE_QUESTIONS_H
#define ADLRO_SERVICE_QUESTIONS_H

#include "http/http_request.h"
#include "jobs/submission.h"
#include "service/service_state.h"
#include "twin/change.h"

#define ADL_QUESTIONS_MAX 4 /* that wait */

/* All texts are its own. */
struct adl_question {
    struct adl_http_request *http; /* deferred */
    struct adl_caller caller;
    bool of_job;
    uint64_t job;
    char label[ADL_LABEL_SIZE];
    char types[128], add_nodes[64], drain[ADL_NAME_SIZE]; /* "" = not given */
    int64_t gpus, limit_s;
    double priority; /* negative = not given */
    double drain_s;  /* wall clock; 0 = now */
    const struct adl_policy_ops *policy;
    uint32_t futures;
    struct adl_submission *submission; /* of a job that is not submitted yet; NULL = none */
    struct adl_question *next;
    int64_t asked_ns;
};

struct adl_questions;

/* time_limit_us: of submissions that have none. The service state outlives it; it ends before the snapshots do. */
int adl_questions_create(struct adl_service_state *shared, int64_t time_limit_us, struct adl_questions **ret,
                         struct adl_error *err);
void adl_questions_destroy(struct adl_questions *questions); /* accepts NULL; answers those that wait */

/* Takes the question over and answers it later; false: too many wait, and it is still the caller's. */
bool adl_questions_post(struct adl_questions *questions, struct adl_question *question);
void adl_question_free(struct adl_question *question); /* accepts NULL */

#endif
