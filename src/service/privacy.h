/* privacy: who may see which job where listings are private (jobs.private), and what is left of texts that name jobs of
 * others. The service state's lock is held. */
#ifndef ADLRO_SERVICE_PRIVACY_H
#define ADLRO_SERVICE_PRIVACY_H

#include "base/text.h"
#include "service/service_state.h"

/* Whether the viewer may know of a job of this user. */
bool adl_veil_shows(const struct adl_service_state *shared, const struct adl_caller *viewer, uint32_t uid);

/* Whether the viewer sees nothing but its own. */
bool adl_veil_hides(const struct adl_service_state *shared, const struct adl_caller *viewer);

/* The text as this user may read it: "job 12" becomes "another job" unless that is a live job of the user. */
void adl_veil_put(struct adl_text *out, const struct adl_service_state *shared, uint32_t uid, const char *text);
/* The same in place, cut where size is too small; unchanged if the viewer may see everything. */
void adl_veil_draw(const struct adl_service_state *shared, const struct adl_caller *viewer, char *text, size_t size);

#endif
