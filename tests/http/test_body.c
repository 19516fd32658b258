/* JSON from outside. */
#include "base/text.h"
#include "http/body.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int parse(const char *text, cJSON **ret, struct adl_error *err)
{
    return adl_body_parse(text, strlen(text), ret, err);
}

static void what_is_json_is_read(void **state)
{
    static const char *const good[] = {
        "{}",
        "[]",
        " \t\r\n[ ] ",
        "0",
        "-0",
        "-1.5e+3",
        "1E5",
        "true",
        "false",
        "null",
        "\"\"",
        "[1,2,[3,{\"a\":[]}],{}]",
        "{\"a\":1,\"b\":{\"a\":2}}",
        "\"\\u00e9\\ud83d\\ude00\\n\\/\"",
        "\"\xc3\xa9\xf0\x9f\x98\x80\"",
        "{\"a\" : \"b\" , \"c\":[ 1 , 2 ] }",
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cJSON *json = NULL;
        struct adl_error err = {{0}};
        if (parse(good[i], &json, &err) != ADL_OK)
            fail_msg("%s: %s", good[i], err.text);
        cJSON_Delete(json);
    }
    cJSON *json = NULL;
    struct adl_error err;
    assert_int_equal(parse("{\"gpus\": 2, \"name\": \"a\\\"b\"}", &json, &err), ADL_OK);
    assert_true(cJSON_GetObjectItemCaseSensitive(json, "gpus")->valuedouble == 2);
    assert_string_equal(cJSON_GetObjectItemCaseSensitive(json, "name")->valuestring, "a\"b");
    cJSON_Delete(json);
}

static void what_is_nearly_json_is_not(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1 \"b\":2}",
        "{,}",
        "[}",
        "{]",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "Infinity",
        "-Infinity",
        "tru",
        "truex",
        "True",
        "nul",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\t\"",
        "\"\n\"",
        "{} {}",
        "1 1",
        "[] x",
        "// c\n1",
        "/**/1",
        "\xef\xbb\xbf{}",
        "\"\xff\"",
        "\"\xc0\xaf\"",
        "\"\xed\xa0\x80\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud800x\"",
        "\"\\u0000\"",
        "{\"a\":1,\"a\":2}",
        "[{\"a\":{\"b\":1,\"\\u0062\":2}}]",
        "\v1",
        "1\f",
        "[1]]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cJSON *json = NULL;
        struct adl_error err = {{0}};
        if (parse(bad[i], &json, &err) != ADL_EINVAL)
            fail_msg("taken: %s", bad[i]);
        assert_null(json);
        assert_ptr_equal(strstr(err.text, "JSON"), err.text);
    }
    cJSON *json = NULL;
    assert_int_equal(adl_body_parse("[1]\0", 4, &json, NULL), ADL_EINVAL);
    assert_int_equal(adl_body_parse("\"a\0b\"", 5, &json, NULL), ADL_EINVAL);
}

static void depth_and_keys_are_bounded(void **state)
{
    (void)state;
    for (size_t depth = ADL_BODY_DEPTH_MAX - 1; depth <= ADL_BODY_DEPTH_MAX + 1; depth++) {
        struct adl_text text = {0};
        cJSON *json = NULL;
        adl_text_repeat(&text, '[', depth);
        adl_text_put(&text, "1");
        adl_text_repeat(&text, ']', depth);
        assert_int_equal(parse(text.data, &json, NULL), depth <= ADL_BODY_DEPTH_MAX ? ADL_OK : ADL_EINVAL);
        cJSON_Delete(json);
        adl_text_clear(&text);
    }
    for (int keys = ADL_BODY_KEY_MAX; keys <= ADL_BODY_KEY_MAX + 1; keys++) {
        struct adl_text text = {0};
        cJSON *json = NULL;
        for (int i = 0; i < keys; i++)
            adl_text_printf(&text, "%s\"k%d\":%d", i ? "," : "{", i, i);
        adl_text_put(&text, "}");
        assert_int_equal(parse(text.data, &json, NULL), keys <= ADL_BODY_KEY_MAX ? ADL_OK : ADL_EINVAL);
        cJSON_Delete(json);
        adl_text_clear(&text);
    }
    struct adl_text text = {0};
    cJSON *json = NULL;
    adl_text_repeat(&text, '[', 1000000);
    assert_int_equal(parse(text.data, &json, NULL), ADL_EINVAL);
    adl_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_json_is_read),
        cmocka_unit_test(what_is_nearly_json_is_not),
        cmocka_unit_test(depth_and_keys_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
