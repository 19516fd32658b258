/* privacy: who may see which job where listings are private (jobs.private), and texts without the names of other users'
 * jobs. The service state's lock is held. */
#ifndef ADLRO_SERVICE_PRIVACY_H
#define ADLRO_SERVICE_PRIVACY_H

#include "base/text.h"
#include "service/service_state.h"

/* Whether the viewer may know of a job of this user. */
bool adl_privacy_shows(const struct adl_service_state *shared, const struct adl_caller *viewer, uint32_t uid);

/* Whether the viewer sees only its own jobs. */
bool adl_privacy_hides(const struct adl_service_state *shared, const struct adl_caller *viewer);

/* The text as this user may read it: "job 12" becomes "another job" unless that is a live job of the user. */
void adl_privacy_redact_text(struct adl_text *out, const struct adl_service_state *shared, uint32_t uid,
                             const char *text);
/* The same in place, cut where size is too small; unchanged if the viewer may see everything. */
void adl_privacy_redact(const struct adl_service_state *shared, const struct adl_caller *viewer, char *text,
                        size_t size);

#endif
