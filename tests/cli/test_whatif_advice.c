/* A change that a what-if answer proposes, put into a submission. */
#include "cli/whatif/advice.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void expect_change(const char *job, const char *request, const char *changed)
{
    char alternative[200];
    snprintf(alternative, sizeof alternative, "{\"change\":\"x\",\"request\":%s}", request);
    cJSON *body = cJSON_Parse(job), *answer = cJSON_Parse(alternative);
    assert_int_equal(adl_advice_apply(body, answer), 0);
    char *text = cJSON_PrintUnformatted(body);
    assert_string_equal(text, changed);
    cJSON_free(text);
    cJSON_Delete(body);
    cJSON_Delete(answer);
}

static void another_type_becomes_a_further_alternative_with_as_many_gpus(void **state)
{
    (void)state;
    expect_change("{\"gpus\":\"v100:2\"}", "{\"add_type\":\"a100\"}", "{\"gpus\":\"v100:2|a100:2\"}");
    expect_change("{\"gpus\":\"v100\"}", "{\"add_type\":\"a100\"}", "{\"gpus\":\"v100|a100:1\"}");
    expect_change("{\"gpus\":\"v100:4|t4:8\"}", "{\"add_type\":\"a100\"}", "{\"gpus\":\"v100:4|t4:8|a100:4\"}");
}

static void fewer_gpus_are_of_the_first_type(void **state)
{
    (void)state;
    expect_change("{\"gpus\":\"v100:4|t4:8\"}", "{\"gpus\":2}", "{\"gpus\":\"v100:2\"}");
    expect_change("{\"gpus\":\"4\"}", "{\"gpus\":2}", "{\"gpus\":\"2\"}");
}

static void limit_and_priority_are_replaced(void **state)
{
    (void)state;
    expect_change("{\"name\":\"n\",\"time_limit_s\":7200}", "{\"time_limit_s\":3600}",
                  "{\"name\":\"n\",\"time_limit_s\":3600}");
    expect_change("{\"name\":\"n\"}", "{\"priority\":1}", "{\"name\":\"n\",\"priority\":1}");
    expect_change("{\"name\":\"n\"}", "{}", "{\"name\":\"n\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_type_becomes_a_further_alternative_with_as_many_gpus),
        cmocka_unit_test(fewer_gpus_are_of_the_first_type),
        cmocka_unit_test(limit_and_priority_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
