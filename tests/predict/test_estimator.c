/* The estimator's bytes and its training. */
#include "estimates_fixture.h"
#include "estimator/estimator_trainer.h"
#include "model_seal.h"
#include "predict/shipped_estimator.h"

#include <stdlib.h>

static void the_shipped_model_reads_back_to_its_own_bytes(void **state)
{
    (void)state;
    struct adl_estimator *estimator = NULL;
    struct adl_error err = {{0}};
    struct adl_text bytes = {0};
    assert_int_equal(adl_estimator_decode(adl_shipped_estimator, adl_shipped_estimator_size, &estimator, &err), 0);
    adl_estimator_encode(estimator, &bytes);
    assert_int_equal(bytes.size, adl_shipped_estimator_size);
    assert_memory_equal(bytes.data, adl_shipped_estimator, bytes.size);
    adl_text_clear(&bytes);
    adl_estimator_destroy(estimator);
}

/* Changes a copy, seals it if told to, and gives what decoding says of it. */
static const char *complaint(size_t at, uint32_t value, size_t size, bool sealed, struct adl_error *err)
{
    struct adl_estimator *estimator = NULL;
    unsigned char *bytes = malloc(adl_shipped_estimator_size);
    assert_non_null(bytes);
    memcpy(bytes, adl_shipped_estimator, adl_shipped_estimator_size);
    for (size_t i = 0; i < 4; i++)
        bytes[at + i] = (unsigned char)(value >> 8 * i & 0xff);
    if (sealed)
        model_seal(bytes, size);
    assert_int_equal(adl_estimator_decode(bytes, size, &estimator, err), ADL_EINVAL);
    assert_null(estimator);
    free(bytes);
    return err->text;
}

static void bytes_that_are_no_estimator_are_refused_with_the_reason(void **state)
{
    (void)state;
    const size_t size = adl_shipped_estimator_size;
    struct adl_error err = {{0}};
    assert_non_null(strstr(complaint(0, 0x21212121, size, false, &err), "ADLROEST"));
    assert_non_null(strstr(complaint(8, 9, size, true, &err), "version 9"));
    assert_non_null(strstr(complaint(100, 12345, size, false, &err), "checksum"));
    assert_non_null(strstr(complaint(100, 12345, size - 16, false, &err), "cut off"));
    assert_non_null(strstr(complaint(40, 77, size, true, &err), "form 77"));
    assert_non_null(strstr(complaint(44, 5, size, true, &err), "train it again"));
    assert_non_null(strstr(complaint(52, 48, size, true, &err), "")); /* another width: sizes no longer fit */
    assert_non_null(strstr(complaint(56, 0xffffffff, size, true, &err), "quantile"));
    assert_non_null(strstr(complaint(68, 0x7fc00000, size, true, &err), "parameter 0"));
    assert_non_null(strstr(complaint(16, 0, 40, true, &err), "ADLROEST"));
}

static struct adl_estimator_config small(enum adl_setnet_form form)
{
    struct adl_estimator_config config = adl_estimator_defaults();
    config.labs = 250;
    config.steps = 250;
    config.width = 16;
    for (int p = 0; p < ADL_ESTIMATOR_PARTS; p++)
        config.forms[p] = form;
    return config;
}

static void train(const struct adl_estimator_config *config, struct adl_text *ret, double *ret_error)
{
    struct adl_estimator_trainer *trainer = NULL;
    struct adl_estimator *estimator = NULL;
    struct adl_error err = {{0}};
    double coverage = 0;
    assert_int_equal(adl_estimator_trainer_create(config, &trainer, &err), 0);
    assert_int_equal(adl_estimator_trainer_run(trainer, &estimator, &err), 0);
    assert_int_equal(
        adl_estimator_trainer_score(trainer, estimator, ADL_ESTIMATE_REFINE_RATE, ret_error, &coverage, &err), 0);
    assert_true(coverage > 0.7 && coverage <= 1);
    adl_estimator_encode(estimator, ret);
    adl_estimator_destroy(estimator);
    adl_estimator_trainer_destroy(trainer);
}

static void equal_seeds_give_equal_models_and_training_lowers_the_error(void **state)
{
    (void)state;
    for (int form = 0; form < ADL_SETNET_FORM_COUNT; form++) {
        struct adl_estimator_config config = small((enum adl_setnet_form)form), other = config, untrained = config;
        struct adl_text a = {0}, b = {0}, c = {0}, d = {0};
        double error = 0, again = 0, before = 0, ignore = 0;
        other.seed = 2;
        untrained.steps = 0;
        train(&config, &a, &error);
        train(&config, &b, &again);
        train(&other, &c, &ignore);
        train(&untrained, &d, &before);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
        assert_true(error == again && error < before);
        assert_memory_not_equal(a.data, c.data, a.size);
        adl_text_clear(&a);
        adl_text_clear(&b);
        adl_text_clear(&c);
        adl_text_clear(&d);
    }
}

static void adapting_to_measured_labs_lowers_the_error_there(void **state)
{
    (void)state;
    struct adl_estimator_config config = small(ADL_SETNET_POOL);
    struct adl_estimator_trainer *trainer = NULL;
    struct adl_estimator *prior = NULL, *adapted = NULL;
    struct adl_error err = {{0}};
    struct adl_lab *lab = malloc(sizeof *lab);
    struct adl_rng rng;
    double error[2] = {0}, count = 0;
    assert_non_null(lab);
    adl_rng_seed(&rng, 77, "measured lab");
    adl_lab_draw(&rng, lab);
    for (uint32_t j = 0; j < lab->job_count; j++)
        for (uint32_t t = 0; t < lab->type_count; t++)
            lab->rate[j][t] -= 2.5; /* as no lab of the prior is */
    config.measured = lab;
    config.measured_count = 1;
    config.measured_repeats = 60;
    config.measured_steps = 300;
    assert_int_equal(adl_estimator_trainer_create(&config, &trainer, &err), 0);
    assert_int_equal(adl_estimator_trainer_run(trainer, &prior, &err), 0);
    assert_int_equal(adl_estimator_trainer_adapt(trainer, prior, &config, &adapted, &err), 0);
    struct adl_cluster cluster = {.types = lab->types, .type_count = lab->type_count};
    for (int which = 0; which < 2; which++) {
        struct adl_estimates *e = NULL;
        struct adl_text bytes = {0};
        adl_estimator_encode(which ? adapted : prior, &bytes);
        assert_int_equal(adl_estimates_create(&cluster, ADL_LAB_JOBS, bytes.data, bytes.size, &e, &err), 0);
        for (uint32_t j = 0; j < lab->job_count; j++) {
            const uint32_t p = adl_estimates_profile(e, &lab->jobs[j], lab->spans[j]);
            for (uint32_t t = 0; t < lab->type_count; t++) {
                struct adl_estimate found;
                adl_estimates_find(e, p, t, ADL_NONE, &found);
                if (found.steps_per_s > 0) {
                    error[which] += fabs(log(found.steps_per_s) - lab->rate[j][t]);
                    count += 1;
                }
            }
        }
        adl_estimates_destroy(e);
        adl_text_clear(&bytes);
    }
    assert_true(count > 0 && error[1] < error[0]);
    adl_estimator_destroy(prior);
    adl_estimator_destroy(adapted);
    adl_estimator_trainer_destroy(trainer);
    free(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shipped_model_reads_back_to_its_own_bytes),
        cmocka_unit_test(bytes_that_are_no_estimator_are_refused_with_the_reason),
        cmocka_unit_test(equal_seeds_give_equal_models_and_training_lowers_the_error),
        cmocka_unit_test(adapting_to_measured_labs_lowers_the_error_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
