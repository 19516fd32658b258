/* live_why: the reason of a decision in words for people: which policy, by which rule, compared with which job. */
#include "decide/reason.h"
#include "serve/live_form.h"

#include <stdio.h>

int64_t adl_live_waited_us(const struct adl_live *live, const struct adl_roster_job *job)
{
    return live->now_us - job->eligible_us - job->ran_us;
}

int64_t adl_live_held_us(const struct adl_live *live, const struct adl_roster_job *job)
{
    return job->start_us > 0 && live->now_us > job->start_us ? live->now_us - job->start_us : 0;
}

void adl_live_say_why(const struct adl_live *live, const struct adl_roster_job *job, const struct adl_reason *reason,
                      char *ret, size_t size)
{
    const struct adl_roster_job *other =
        reason->other_id > 0 ? adl_roster_find(&live->desk->roster, reason->other_id) : NULL;
    struct adl_reason here = *reason;
    char label[ADL_LABEL_SIZE], words[ADL_REASON_SIZE];
    here.waited_us = adl_live_waited_us(live, job); /* the engine does not know of attempts before it was there */
    adl_reason_words(&here, other ? adl_label_of_live(other, label) : NULL, words, sizeof words);
    snprintf(ret, size, "%s: %s", live->desk->policy->name, words);
}
