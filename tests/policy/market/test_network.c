/* Tests of policy/market/network.h: messages on their way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/market/network.h"

#define MESSAGES 2000

static struct adl_network make(struct adl_network_model model, uint64_t seed)
{
    struct adl_network network;
    adl_network_create(&network, &model, seed);
    assert_int_equal(adl_network_reserve(&network, 3 * MESSAGES), 0);
    return network;
}

static void send_all(struct adl_network *network)
{
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const struct adl_message message = {.kind = ADL_MESSAGE_BID, .from = i % 10, .to = ADL_AUCTIONEER, .order = i};
        adl_network_send(network, &message, i);
    }
}

static void a_perfect_network_delivers_at_once_and_in_order(void **state)
{
    (void)state;
    struct adl_network network = make((struct adl_network_model){0}, 1);
    for (uint32_t i = 0; i < 10; i++)
        adl_network_send(&network, &(struct adl_message){.order = i}, 5);
    assert_null(adl_network_receive(&network, 4));
    for (uint32_t i = 0; i < 10; i++) {
        const struct adl_message *message = adl_network_receive(&network, 5);
        assert_non_null(message);
        assert_int_equal(message->order, i);
    }
    assert_null(adl_network_receive(&network, 5));
    assert_true(adl_network_next_us(&network) == INT64_MAX && adl_network_patience_us(&network) == 0);
    adl_network_clear(&network);
}

static void messages_are_late_lost_doubled_and_overtaken_as_the_model_says(void **state)
{
    (void)state;
    struct adl_network network =
        make((struct adl_network_model){.latency_ms = 50, .jitter = 0.5, .loss = 0.05, .duplicate = 0.1}, 1);
    const struct adl_message *message;
    uint32_t count = 0, overtaken = 0, last = 0;
    send_all(&network);
    assert_true(adl_network_next_us(&network) >= 25000);
    while ((message = adl_network_receive(&network, 75000 + MESSAGES)) != NULL) {
        overtaken += message->order < last;
        last = message->order;
        count++;
    }
    assert_true(adl_network_next_us(&network) == INT64_MAX);
    assert_in_range(network.traffic.lost, MESSAGES / 40, MESSAGES / 10);
    assert_in_range(network.traffic.doubled, MESSAGES / 20, MESSAGES / 5);
    assert_int_equal(count, MESSAGES - network.traffic.lost + network.traffic.doubled);
    assert_true(overtaken > MESSAGES / 4);
    assert_int_equal(network.traffic.bytes, (uint64_t)MESSAGES * adl_message_bytes(ADL_MESSAGE_BID));
    adl_network_clear(&network);
}

static void timers_come_in_time_whatever_the_network_loses(void **state)
{
    (void)state;
    struct adl_network network = make((struct adl_network_model){.latency_ms = 50, .loss = 0.5}, 1);
    for (int64_t i = 0; i < 100; i++)
        adl_network_remind(&network, &(struct adl_message){.kind = ADL_MESSAGE_DUE}, 100 - i);
    for (int64_t i = 1; i <= 100; i++)
        assert_true(adl_network_next_us(&network) == i && adl_network_receive(&network, i));
    assert_int_equal(network.traffic.messages, 0);
    adl_network_clear(&network);
}

static void a_partition_cuts_a_share_of_the_agents_off_and_heals(void **state)
{
    (void)state;
    struct adl_network network =
        make((struct adl_network_model){.partition_start_s = 10, .partition_s = 600, .partition_share = 0.5}, 1);
    uint32_t cut = 0;
    for (uint32_t a = 0; a < 1000; a++) {
        cut += adl_network_cut(&network, a, 300 * INT64_C(1000000));
        assert_false(adl_network_cut(&network, a, 9999999));
        assert_false(adl_network_cut(&network, a, 610 * INT64_C(1000000)));
    }
    assert_in_range(cut, 400, 600);
    assert_false(adl_network_cut(&network, ADL_AUCTIONEER, 300 * INT64_C(1000000)));
    adl_network_clear(&network);
}

static uint64_t drain(struct adl_network *network)
{
    uint64_t hash = 0;
    const struct adl_message *message;
    for (int64_t us = 0; us < 200000; us++)
        while ((message = adl_network_receive(network, us)) != NULL)
            hash = hash * 31 + message->order * 200001 + (uint64_t)us;
    return hash;
}

static void equal_seeds_and_copies_deliver_the_same_at_the_same_times(void **state)
{
    (void)state;
    const struct adl_network_model model = {.latency_ms = 50, .jitter = 0.9, .loss = 0.1, .duplicate = 0.1};
    struct adl_network a = make(model, 3), b = make(model, 3), other = make(model, 4), copy = make(model, 9);
    send_all(&a);
    send_all(&b);
    send_all(&other);
    send_all(&copy);
    assert_int_equal(adl_network_copy(&copy, &a), 0);
    const uint64_t hash = drain(&a);
    assert_true(hash == drain(&b) && hash == drain(&copy) && hash != drain(&other));
    send_all(&a);
    send_all(&copy);
    assert_true(drain(&a) == drain(&copy));
    adl_network_clear(&a);
    adl_network_clear(&b);
    adl_network_clear(&other);
    adl_network_clear(&copy);
}

static void a_network_without_room_loses_messages_and_says_so(void **state)
{
    (void)state;
    struct adl_network network;
    const struct adl_message *message;
    adl_network_create(&network, &(struct adl_network_model){0}, 1);
    assert_int_equal(adl_network_reserve(&network, 4), 0);
    const size_t room = network.capacity;
    for (size_t i = 0; i < room + 3; i++)
        adl_network_send(&network, &(struct adl_message){.order = (uint32_t)i}, 0);
    assert_int_equal(network.traffic.lost, 3);
    for (size_t i = 0; i < room; i++) {
        message = adl_network_receive(&network, 0);
        assert_true(message && message->order == i);
    }
    assert_null(adl_network_receive(&network, 0));
    adl_network_clear(&network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perfect_network_delivers_at_once_and_in_order),
        cmocka_unit_test(messages_are_late_lost_doubled_and_overtaken_as_the_model_says),
        cmocka_unit_test(timers_come_in_time_whatever_the_network_loses),
        cmocka_unit_test(a_partition_cuts_a_share_of_the_agents_off_and_heals),
        cmocka_unit_test(equal_seeds_and_copies_deliver_the_same_at_the_same_times),
        cmocka_unit_test(a_network_without_room_loses_messages_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
