/* type_speed: speeds on GPU types on which the catalogue has none. */
#include "scenario/type_speed.h"

#include "scenario/shipped.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int open_catalogue(void **state)
{
    static struct adl_catalogue catalogue;
    const struct adl_shipped_file *file = adl_shipped_at("catalogue.yaml");
    struct adl_error err;
    *state = &catalogue;
    return adl_catalogue_parse("catalogue.yaml", (const char *)file->text, file->size, &catalogue, &err);
}

static int close_catalogue(void **state)
{
    adl_catalogue_clear(*state);
    return 0;
}

static double speed(const struct adl_catalogue *catalogue, const char *class, const char *type)
{
    bool modelled;
    const struct adl_catalogue_type *found = adl_catalogue_find_type(catalogue, type);
    assert_non_null(found);
    return adl_type_speed(catalogue, adl_catalogue_find_class(catalogue, class), &found->gpu, &modelled);
}

static void a_listed_speed_stays_and_an_absent_one_means_that_the_class_does_not_run_there(void **state)
{
    const struct adl_catalogue *catalogue = *state;
    const struct adl_catalogue_class *class = adl_catalogue_find_class(catalogue, "resnet50-b64");
    assert_true(speed(catalogue, "resnet50-b64", "v100") == adl_catalogue_find_speed(class, "v100")->steps_per_s);
    assert_true(speed(catalogue, "llm-serve-large", "k80") == 0);
}

static void a_type_without_speeds_is_ordered_as_its_specifications_are(void **state)
{
    const struct adl_catalogue *catalogue = *state;
    static const char *const ordered[] = {"a16", "rtx3060", "rtx3090", "rtx5090", "h200", "b200"};
    for (uint32_t i = 0; i < catalogue->class_count; i++) {
        const char *class = catalogue->classes[i].job.name;
        for (size_t t = 0; t + 1 < sizeof ordered / sizeof *ordered; t++)
            if (!(speed(catalogue, class, ordered[t]) <= speed(catalogue, class, ordered[t + 1])))
                fail_msg("%s is faster on %s than on %s", class, ordered[t], ordered[t + 1]);
        assert_true(speed(catalogue, class, "a16") > 0);
    }
}

static void a_slice_is_slower_than_the_whole_gpu(void **state)
{
    const struct adl_catalogue *catalogue = *state;
    for (uint32_t i = 0; i < catalogue->class_count; i++) {
        const char *class = catalogue->classes[i].job.name;
        assert_true(speed(catalogue, class, "a100-1g.5gb") < speed(catalogue, class, "a100-3g.20gb"));
        assert_true(speed(catalogue, class, "a100-3g.20gb") < speed(catalogue, class, "a100"));
    }
}

static void an_estimate_says_that_it_is_modelled(void **state)
{
    const struct adl_catalogue *catalogue = *state;
    struct adl_gpu_type unknown = {.name = "unheard-of", .memory_mib = 8192};
    bool modelled = false;
    adl_gpu_type_complete(&unknown);
    const double slow = adl_type_speed(catalogue, &catalogue->classes[0], &unknown, &modelled);
    assert_true(modelled && slow > 0);
    assert_true(slow <= speed(catalogue, catalogue->classes[0].job.name, "t4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listed_speed_stays_and_an_absent_one_means_that_the_class_does_not_run_there),
        cmocka_unit_test(a_type_without_speeds_is_ordered_as_its_specifications_are),
        cmocka_unit_test(a_slice_is_slower_than_the_whole_gpu),
        cmocka_unit_test(an_estimate_says_that_it_is_modelled),
    };
    return cmocka_run_group_tests(tests, open_catalogue, close_catalogue);
}
