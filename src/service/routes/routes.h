/* routes: the REST interface: its addresses, who may use them, and their handlers (docs/rest.md).
 *
 * Reads are answered at once, from memory under the service state's lock or from the store. A change becomes a request
 * in the request queue; the deciding thread answers when it has applied or refused it. */
#ifndef ADLRO_SERVICE_ROUTES_H
#define ADLRO_SERVICE_ROUTES_H

#include "http/http.h"
#include "service/service_state.h"

#include <stdatomic.h>

/* The handlers' context for adl_http_open(). The service state is the caller's; the rest starts zeroed. */
struct adl_routes_context {
    struct adl_service_state *shared;
    _Atomic(struct adl_http *) http; /* whose counts /metrics shows; set once it is open */
    struct adl_store *reader;        /* of the HTTP thread, opened when first needed */
    struct adl_store *answer_reader; /* the same of the thread that answers requests */
};

const struct adl_route *adl_routes(uint32_t *ret_count);

/* Once neither thread runs any more and the request queue is gone. */
void adl_routes_clear(struct adl_routes_context *context);

#endif
