/* limits: per client: requests by a token bucket, connections and event streams by a count.
 *
 * A client is a user, or an address on TCP until a token identifies the user. The table has a fixed size; it evicts the
 * client without a connection whose bucket is the fullest, so that a client gains nothing by reconnecting. */
#ifndef ADLRO_HTTP_LIMITS_H
#define ADLRO_HTTP_LIMITS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_client_limits;
struct adl_limited_client;

struct adl_limits_config {
    double requests_per_s; /* 0: no limit */
    double burst;          /* requests at once, at least 1 */
    uint32_t connections_per_client;
    uint32_t streams_per_client; /* event streams; they are long-lived, so should be fewer than connections */
};

struct adl_client_key {
    uint64_t high, low;
};

struct adl_client_key adl_client_key_user(uint32_t uid);
/* The 16 bytes of an IPv6 address, of which the first 8 count, because a subscriber has a /64; or of an IPv4-mapped
 * address, of which all count. */
struct adl_client_key adl_client_key_address(const uint8_t address[16]);

int adl_limits_create(const struct adl_limits_config *config, struct adl_client_limits **ret, struct adl_error *err);
void adl_limits_destroy(struct adl_client_limits *limits);

/* Counts one more connection of this client; NULL if it has too many. */
struct adl_limited_client *adl_limits_connect(struct adl_client_limits *limits, struct adl_client_key key,
                                              int64_t now_us);
void adl_limits_disconnect(struct adl_limited_client *client); /* accepts NULL */

/* Counts one more event stream of this client; false if it has too many. */
bool adl_limits_stream(struct adl_client_limits *limits, struct adl_limited_client *client);
void adl_limits_stream_end(struct adl_limited_client *client); /* accepts NULL */

/* Takes cost requests from the bucket and returns 0; or takes nothing and returns the time to wait. A cost above the
 * burst counts as the burst. */
int64_t adl_limits_take(struct adl_client_limits *limits, struct adl_limited_client *client, double cost,
                        int64_t now_us);

#endif
