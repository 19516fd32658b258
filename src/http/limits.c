#include "http/limits.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SET_COUNT 512 /* a power of two */
#define WAY_COUNT 8   /* clients whose keys share a set */

struct adl_limited_client {
    struct adl_client_key key;
    bool used;
    uint32_t connections, streams;
    double tokens; /* at time_us */
    int64_t time_us;
};

struct adl_client_limits {
    struct adl_limits_config config;
    uint64_t seed; /* so that an attacker cannot choose addresses that share a set */
    struct adl_limited_client clients[SET_COUNT][WAY_COUNT];
};

struct adl_client_key adl_client_key_user(uint32_t uid)
{
    return (struct adl_client_key){.high = UINT64_MAX, .low = uid};
}

struct adl_client_key adl_client_key_address(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct adl_client_key key = {0};
    for (size_t i = 0; i < 8; i++)
        key.high = key.high << 8 | address[i];
    if (memcmp(address, mapped, sizeof mapped) == 0)
        for (size_t i = 8; i < 16; i++)
            key.low = key.low << 8 | address[i];
    return key;
}

int adl_limits_create(const struct adl_limits_config *config, struct adl_client_limits **ret, struct adl_error *err)
{
    if (!(config->requests_per_s >= 0) || !(config->burst >= 1) || config->connections_per_client < 1 ||
        config->streams_per_client < 1)
        return adl_fail(err, ADL_EINVAL,
                        "limits: the rate must not be negative; burst, connections and streams must be at least 1");
    struct adl_client_limits *limits = calloc(1, sizeof *limits);
    if (!limits)
        return adl_fail(err, ADL_ENOMEM, "no memory for the table of clients");
    limits->config = *config;
    if (getrandom(&limits->seed, sizeof limits->seed, 0) != (ssize_t)sizeof limits->seed) {
        free(limits);
        return adl_fail(err, ADL_EIO, "the system returns no random bytes");
    }
    *ret = limits;
    return ADL_OK;
}

void adl_limits_destroy(struct adl_client_limits *limits)
{
    free(limits);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void refill(const struct adl_client_limits *limits, struct adl_limited_client *client, int64_t now_us)
{
    if (now_us > client->time_us) {
        const double earned = (double)(now_us - client->time_us) * 1e-6 * limits->config.requests_per_s;
        client->tokens = fmin(client->tokens + earned, limits->config.burst);
        client->time_us = now_us;
    }
}

/* The entry of this key, or one to reuse for it; NULL if all belong to connected clients. */
static struct adl_limited_client *find_place(struct adl_client_limits *limits, struct adl_client_key key,
                                             int64_t now_us)
{
    struct adl_limited_client *set = limits->clients[mix(mix(key.high ^ limits->seed) ^ key.low) % SET_COUNT],
                              *place = NULL;
    for (size_t i = 0; i < WAY_COUNT; i++) {
        struct adl_limited_client *client = &set[i];
        if (client->used && client->key.high == key.high && client->key.low == key.low)
            return client;
        if (client->used)
            refill(limits, client, now_us);
        else
            client->tokens = INFINITY; /* the best entry to reuse */
        if (client->connections == 0 && (!place || client->tokens > place->tokens))
            place = client;
    }
    if (place)
        *place =
            (struct adl_limited_client){.key = key, .used = true, .tokens = limits->config.burst, .time_us = now_us};
    return place;
}

struct adl_limited_client *adl_limits_connect(struct adl_client_limits *limits, struct adl_client_key key,
                                              int64_t now_us)
{
    struct adl_limited_client *client = find_place(limits, key, now_us);
    if (!client || client->connections >= limits->config.connections_per_client)
        return NULL;
    client->connections++;
    return client;
}

void adl_limits_disconnect(struct adl_limited_client *client)
{
    if (client && client->connections > 0)
        client->connections--;
}

bool adl_limits_stream(struct adl_client_limits *limits, struct adl_limited_client *client)
{
    if (client->streams >= limits->config.streams_per_client)
        return false;
    client->streams++;
    return true;
}

void adl_limits_stream_end(struct adl_limited_client *client)
{
    if (client && client->streams > 0)
        client->streams--;
}

int64_t adl_limits_take(struct adl_client_limits *limits, struct adl_limited_client *client, double cost,
                        int64_t now_us)
{
    if (!(limits->config.requests_per_s > 0))
        return 0;
    cost = fmin(cost, limits->config.burst);
    refill(limits, client, now_us);
    if (client->tokens >= cost - 1e-9) { /* tolerates rounding of several partial refills */
        client->tokens -= cost;
        return 0;
    }
    return (int64_t)ceil((cost - client->tokens) / limits->config.requests_per_s * 1e6);
}
