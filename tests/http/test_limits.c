/* What each client may ask for. */
#include "http/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND_US INT64_C(1000000)

static struct adl_client_limits *create(double rate, double burst, uint32_t connections)
{
    const struct adl_limits_config config = {rate, burst, connections, connections};
    struct adl_client_limits *limits = NULL;
    struct adl_error err;
    assert_int_equal(adl_limits_create(&config, &limits, &err), ADL_OK);
    return limits;
}

static void a_client_gets_its_burst_and_then_its_rate(void **state)
{
    struct adl_client_limits *limits = create(10, 5, 1);
    struct adl_limited_client *client = adl_limits_connect(limits, adl_client_key_user(7), 0);
    (void)state;
    assert_non_null(client);
    for (int i = 0; i < 5; i++)
        assert_int_equal(adl_limits_take(limits, client, 1, 0), 0);
    assert_int_equal(adl_limits_take(limits, client, 1, 0), SECOND_US / 10);
    assert_int_equal(adl_limits_take(limits, client, 1, SECOND_US / 20), SECOND_US / 20);
    assert_int_equal(adl_limits_take(limits, client, 1, SECOND_US / 10), 0);
    assert_true(adl_limits_take(limits, client, 1, SECOND_US / 10) > 0);
    int taken = 0; /* over ten seconds, asked a thousand times a second */
    for (int64_t now_us = 0; now_us < 10 * SECOND_US; now_us += 1000)
        taken += adl_limits_take(limits, client, 1, now_us + SECOND_US / 10) == 0;
    assert_in_range(taken, 99, 101);
    assert_int_equal(adl_limits_take(limits, client, 1000, 100 * SECOND_US), 0); /* no more than the burst */
    assert_int_equal(adl_limits_take(limits, client, 1, 0), SECOND_US / 10);     /* a clock that went back */
    adl_limits_destroy(limits);
    adl_limits_destroy(NULL);
}

static void reconnecting_does_not_refill_the_bucket(void **state)
{
    struct adl_client_limits *limits = create(1, 3, 1);
    (void)state;
    int taken = 0;
    for (int i = 0; i < 100; i++) {
        struct adl_limited_client *client = adl_limits_connect(limits, adl_client_key_user(7), 0);
        taken += adl_limits_take(limits, client, 1, 0) == 0;
        adl_limits_disconnect(client);
    }
    assert_int_equal(taken, 3);
    adl_limits_destroy(limits);
}

static void one_client_does_not_use_up_anothers_requests(void **state)
{
    struct adl_client_limits *limits = create(1, 1, 2);
    struct adl_limited_client *a = adl_limits_connect(limits, adl_client_key_user(1), 0);
    struct adl_limited_client *b = adl_limits_connect(limits, adl_client_key_user(2), 0);
    (void)state;
    assert_int_equal(adl_limits_take(limits, a, 1, 0), 0);
    assert_true(adl_limits_take(limits, a, 1, 0) > 0);
    assert_int_equal(adl_limits_take(limits, b, 1, 0), 0);
    assert_ptr_equal(adl_limits_connect(limits, adl_client_key_user(1), 0), a);
    assert_null(adl_limits_connect(limits, adl_client_key_user(1), 0));
    adl_limits_disconnect(a);
    assert_ptr_equal(adl_limits_connect(limits, adl_client_key_user(1), 0), a);
    adl_limits_disconnect(NULL);
    adl_limits_destroy(limits);
}

static void a_flood_of_clients_evicts_no_connected_one(void **state)
{
    struct adl_client_limits *limits = create(1, 2, 4);
    struct adl_limited_client *kept = adl_limits_connect(limits, adl_client_key_user(1), 0);
    (void)state;
    assert_int_equal(adl_limits_take(limits, kept, 2, 0), 0);
    for (uint32_t uid = 2; uid < 100000; uid++)
        adl_limits_disconnect(adl_limits_connect(limits, adl_client_key_user(uid), 0));
    assert_ptr_equal(adl_limits_connect(limits, adl_client_key_user(1), 0), kept);
    assert_true(adl_limits_take(limits, kept, 1, 0) > 0);
    uint32_t held = 0; /* connections that stay: bounded by the table, however many come */
    for (uint32_t uid = 2; uid < 100000; uid++)
        held += adl_limits_connect(limits, adl_client_key_user(uid), 0) != NULL;
    assert_true(held >= 2048 && held <= 4096);
    adl_limits_destroy(limits);
}

static void without_a_rate_nothing_is_refused(void **state)
{
    struct adl_client_limits *limits = create(0, 1, 1);
    struct adl_limited_client *client = adl_limits_connect(limits, adl_client_key_user(7), 0);
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(adl_limits_take(limits, client, 1, 0), 0);
    adl_limits_destroy(limits);
}

static void addresses_of_one_network_are_one_client(void **state)
{
    const uint8_t a[16] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 1}, b[16] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 2},
                  c[16] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 2, 1};
    const uint8_t v4a[16] = {[10] = 255, [11] = 255, [15] = 1}, v4b[16] = {[10] = 255, [11] = 255, [15] = 2};
    (void)state;
    assert_int_equal(adl_client_key_address(a).high, adl_client_key_address(b).high);
    assert_int_equal(adl_client_key_address(a).low, adl_client_key_address(b).low);
    assert_true(adl_client_key_address(a).high != adl_client_key_address(c).high);
    assert_true(adl_client_key_address(v4a).low != adl_client_key_address(v4b).low);
    struct adl_client_limits *limits = NULL;
    struct adl_error err;
    assert_int_equal(adl_limits_create(&(struct adl_limits_config){-1, 1, 1, 1}, &limits, &err), ADL_EINVAL);
    assert_int_equal(adl_limits_create(&(struct adl_limits_config){1, 0, 1, 1}, &limits, &err), ADL_EINVAL);
    assert_int_equal(adl_limits_create(&(struct adl_limits_config){1, 1, 0, 1}, &limits, &err), ADL_EINVAL);
    assert_int_equal(adl_limits_create(&(struct adl_limits_config){1, 1, 1, 0}, &limits, &err), ADL_EINVAL);
    assert_null(limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_gets_its_burst_and_then_its_rate),
        cmocka_unit_test(reconnecting_does_not_refill_the_bucket),
        cmocka_unit_test(one_client_does_not_use_up_anothers_requests),
        cmocka_unit_test(a_flood_of_clients_evicts_no_connected_one),
        cmocka_unit_test(without_a_rate_nothing_is_refused),
        cmocka_unit_test(addresses_of_one_network_are_one_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
