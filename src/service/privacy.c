#include "service/privacy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char word[] = "job ";

bool adl_privacy_hides(const struct adl_service_state *shared, const struct adl_caller *viewer)
{
    return shared->private_jobs && !viewer->admin;
}

bool adl_privacy_shows(const struct adl_service_state *shared, const struct adl_caller *viewer, uint32_t uid)
{
    return !adl_privacy_hides(shared, viewer) || viewer->account.uid == uid;
}

/* With a cluster underneath, the numbers in texts are those of the cluster, not of the job table. */
static bool is_own(const struct adl_service_state *shared, uint32_t uid, const char *digits)
{
    const struct adl_job_entry *job = adl_job_table_find(&shared->job_table, strtoull(digits, NULL, 10));
    return job && job->external == 0 && job->uid == uid;
}

void adl_privacy_redact_text(struct adl_text *out, const struct adl_service_state *shared, uint32_t uid,
                             const char *text)
{
    const char *rest = text;
    for (const char *at; (at = strstr(rest, word));) {
        const char *digits = at + sizeof word - 1;
        const size_t length = strspn(digits, "0123456789_");
        const bool names_one = isdigit((unsigned char)*digits) && (at == text || !isalnum((unsigned char)at[-1]));
        adl_text_bytes(out, rest, (size_t)(at - rest));
        if (names_one && !is_own(shared, uid, digits))
            adl_text_put(out, "another job");
        else
            adl_text_bytes(out, at, sizeof word - 1 + length);
        rest = digits + length;
    }
    adl_text_put(out, rest);
}

void adl_privacy_redact(const struct adl_service_state *shared, const struct adl_caller *viewer, char *text,
                        size_t size)
{
    struct adl_text redacted = {0};
    if (!adl_privacy_hides(shared, viewer))
        return;
    adl_privacy_redact_text(&redacted, shared, viewer->account.uid, text);
    snprintf(text, size, "%s", adl_text_status(&redacted) == 0 && redacted.data ? redacted.data : "");
    adl_text_clear(&redacted);
}
