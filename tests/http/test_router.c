/* Addresses taken apart, and the routes they lead to. */
#include "http/router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void handle(void *context, struct adl_http_request *request)
{
    (void)context, (void)request;
}

static const struct adl_route routes[] = {
    {"GET", "/", handle, ADL_NEED_ANYONE, ADL_BODY_NONE, 0},
    {"GET", "/v1/jobs", handle, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"POST", "/v1/jobs", handle, ADL_NEED_USER, ADL_BODY_JSON, 100},
    {"GET", "/v1/jobs/counts", handle, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"GET", "/v1/jobs/{id}", handle, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"DELETE", "/v1/jobs/{id}", handle, ADL_NEED_USER, ADL_BODY_NONE, 0},
    {"POST", "/v1/nodes/{node}/gpus/{gpu}/drain", handle, ADL_NEED_ADMIN, ADL_BODY_NONE, 0},
};
#define ROUTE_COUNT (sizeof routes / sizeof *routes)

static int find(const char *method, const char *raw, struct adl_match *ret)
{
    static struct adl_target target;
    struct adl_error err;
    assert_int_equal(adl_target_parse(&target, raw, &err), ADL_OK);
    return adl_routes_find(routes, ROUTE_COUNT, method, &target, ret);
}

static void the_route_of_an_address_is_found(void **state)
{
    struct adl_match match;
    (void)state;
    assert_int_equal(find("GET", "/", &match), 200);
    assert_ptr_equal(match.route, &routes[0]);
    assert_int_equal(find("HEAD", "/?a=b", &match), 200);
    assert_int_equal(find("POST", "/v1/jobs", &match), 200);
    assert_ptr_equal(match.route, &routes[2]);
    assert_int_equal(find("GET", "/v1/jobs/counts", &match), 200);
    assert_ptr_equal(match.route, &routes[3]);
    assert_int_equal(find("GET", "/v1/jobs/countsx", &match), 200);
    assert_ptr_equal(match.route, &routes[4]);
    assert_int_equal(find("POST", "/v1/nodes/n%201/gpus/3/drain", &match), 200);
    assert_string_equal(adl_match_param(&match, "node"), "n 1");
    assert_string_equal(adl_match_param(&match, "gpu"), "3");
    assert_null(adl_match_param(&match, "gp"));
    assert_null(adl_match_param(&match, "gpus"));
}

static void what_has_no_route_is_404_and_a_wrong_method_405(void **state)
{
    struct adl_match match;
    (void)state;
    static const char *const nowhere[] = {"/v1",       "/v2/jobs",     "/v1/job",
                                          "/v1/jobsx", "/v1/jobs/1/2", "/v1/nodes/1/gpus/2"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        assert_int_equal(find("GET", nowhere[i], &match), 404);
    assert_int_equal(find("DELETE", "/v1/jobs", &match), 405);
    assert_string_equal(match.allow, "GET, HEAD, POST");
    assert_int_equal(find("get", "/v1/jobs", &match), 405);
    assert_int_equal(find("", "/", &match), 405);
}

static void a_query_is_parsed(void **state)
{
    struct adl_target target;
    struct adl_error err;
    (void)state;
    assert_int_equal(adl_target_parse(&target, "/a/b%C3%A9?x=1&y=a+b%2Bc=d&z", &err), ADL_OK);
    assert_int_equal(target.segment_count, 2);
    assert_string_equal(target.segments[1], "b\xc3\xa9");
    assert_string_equal(adl_target_query(&target, "x"), "1");
    assert_string_equal(adl_target_query(&target, "y"), "a b+c=d");
    assert_string_equal(adl_target_query(&target, "z"), "");
    assert_null(adl_target_query(&target, "w"));
    assert_int_equal(adl_target_parse(&target, "/?", &err), ADL_OK);
    assert_int_equal(target.pair_count, 0);
}

static void addresses_that_hide_something_are_refused(void **state)
{
    struct adl_target target;
    (void)state;
    static const char *const bad[] = {
        "",       "*",         "http://x/",  "a",        "//",          "/a/",     "/a//b",   "/..",
        "/.",     "/a/../b",   "/%2e%2E",    "/%2e",     "/a%00",       "/a%0",    "/a%",     "/a%zz",
        "/a%2fb", "/a\\b",     "/a b",       "/a#b",     "/\x01",       "/%0a",    "/%7f",    "/\xff",
        "/%ff",   "/%c0%ae",   "/a?x=1&x=2", "/a?=1",    "/a?&x=1",     "/a?x=1&", "/a?x=%0", "/a?x=%",
        "/a?x y", "/a?x=%00b", "/a?x=\"b\"", "/a?%20=1", "/a?x=%f0%28", "/a|b",    "/<a>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct adl_error err = {{0}};
        if (adl_target_parse(&target, bad[i], &err) != ADL_EINVAL)
            fail_msg("taken: %s", bad[i]);
        assert_true(err.text[0] != '\0');
        assert_int_equal(target.segment_count + target.pair_count, 0);
    }
}

static void addresses_are_bounded(void **state)
{
    static struct adl_target target;
    char raw[ADL_TARGET_SIZE_MAX + 2];
    struct adl_error err;
    (void)state;
    memset(raw, 'a', sizeof raw);
    raw[0] = '/';
    raw[ADL_TARGET_SIZE_MAX - 1] = '\0';
    assert_int_equal(adl_target_parse(&target, raw, &err), ADL_OK);
    assert_int_equal(strlen(target.segments[0]), ADL_TARGET_SIZE_MAX - 2);
    raw[ADL_TARGET_SIZE_MAX - 1] = 'a';
    raw[ADL_TARGET_SIZE_MAX] = '\0';
    assert_int_equal(adl_target_parse(&target, raw, &err), ADL_EINVAL);
    assert_int_equal(adl_target_parse(&target, "/1/2/3/4/5/6/7/8/9/10/11/12", &err), ADL_OK);
    assert_int_equal(adl_target_parse(&target, "/1/2/3/4/5/6/7/8/9/10/11/12/13", &err), ADL_EINVAL);
    assert_int_equal(adl_target_parse(&target, "/?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p", &err), ADL_OK);
    assert_int_equal(adl_target_parse(&target, "/?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q", &err), ADL_EINVAL);
}

static void a_table_with_a_mistake_is_not_served(void **state)
{
    struct adl_error err;
    (void)state;
    assert_int_equal(adl_routes_check(routes, ROUTE_COUNT, &err), ADL_OK);
    static const struct adl_route bad[][2] = {
        {{"GET", "/a", handle, 0, 0, 0}, {"GET", "/a", handle, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"LOOK", "/b", handle, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"GET", "b", handle, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"GET", "/b/", handle, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"GET", "/{b", handle, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"GET", "/{}", handle, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"GET", "/{a}/{b}/{c}/{d}/{e}", handle, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"GET", "/x{b}", handle, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"GET", "/b", NULL, 0, 0, 0}},
        {{"GET", "/a", handle, 0, 0, 0}, {"POST", "/b", handle, 0, ADL_BODY_JSON, 0}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (adl_routes_check(bad[i], 2, &err) != ADL_EINVAL)
            fail_msg("taken: %s %s", bad[i][1].method, bad[i][1].pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_route_of_an_address_is_found),
        cmocka_unit_test(what_has_no_route_is_404_and_a_wrong_method_405),
        cmocka_unit_test(a_query_is_parsed),
        cmocka_unit_test(addresses_that_hide_something_are_refused),
        cmocka_unit_test(addresses_are_bounded),
        cmocka_unit_test(a_table_with_a_mistake_is_not_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
