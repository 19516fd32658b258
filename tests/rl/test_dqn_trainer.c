/* Training: its results follow from its options alone, it can be taken up again, and it learns. On a cluster of two
 * types on which each job is fast on the one and slow on the other. */
#include "nn/model_file.h"
#include "rl/dqn_trainer.h"
#include "rl/environment.h"
#include "tiny_scenario.h"

#include <math.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS      8
#define SWEEPS      2
#define LONG_ROUNDS 8 /* enough to learn where a job is at home */
#define LONG_SWEEPS 16
#define TRAININGS   3

static struct adl_scenario two_types(void)
{
    struct adl_scenario s = tiny_start(30);
    for (int t = 0; t < 2; t++)
        tiny_node(&s, tiny_type(&s), 3);
    for (int c = 0; c < 2; c++) {
        struct adl_job_class *class = tiny_class(&s, c ? ADL_KIND_DATA : ADL_KIND_TRAINING, 1.0, 0.5);
        struct adl_mix *mix = tiny_mix(&s, (uint32_t)c, 8, 1, 0);
        class->steps_per_s[!c] = 0.25; /* class c is at home on type c */
        mix->reference = (uint32_t)c;
        mix->sigma = 0.5;
        mix->min_s = 2;
        mix->max_s = 30;
    }
    s.workload.arrivals.process = ADL_ARRIVAL_POISSON;
    s.workload.arrivals.rate_per_h = 500;
    s.workload.limits.median_factor = 1.5;
    s.workload.limits.sigma = 0.2;
    s.kill_at_limit = false;
    return s;
}

static struct adl_dqn_config options(const struct adl_scenario *scenario)
{
    struct adl_dqn_config config = adl_dqn_defaults(ADL_QNET_SHARED);
    config.scenario = scenario;
    config.sweeps = SWEEPS;
    config.episodes = (uint64_t)ROUNDS * SWEEPS * ADL_SWEEP_EPISODES;
    config.gpu_width = config.head_width = 16;
    config.validate_rounds = 3;
    config.validation_episodes = 16;
    return config;
}

static struct adl_dqn_trainer *create(const struct adl_dqn_config *config)
{
    struct adl_dqn_trainer *trainer = NULL;
    struct adl_error err = {.text = ""};
    if (adl_dqn_trainer_create(config, &trainer, &err))
        fail_msg("%s", err.text);
    return trainer;
}

static void prepare(struct adl_dqn_trainer *trainer)
{
    struct adl_result warm_start;
    struct adl_error err = {.text = ""};
    if (adl_dqn_trainer_prepare(trainer, &warm_start, &err))
        fail_msg("%s", err.text);
}

/* Runs up to that many rounds; returns the last report. */
static struct adl_dqn_report train(struct adl_dqn_trainer *trainer, int rounds)
{
    struct adl_dqn_report report = {.episodes = 0};
    struct adl_error err = {.text = ""};
    int status = 1;
    for (int r = 0; r < rounds && status > 0; r++)
        status = adl_dqn_trainer_round(trainer, &report, &err);
    if (status < 0)
        fail_msg("%s", err.text);
    return report;
}

static struct adl_text checkpoint(const struct adl_dqn_trainer *trainer)
{
    struct adl_text bytes = {0};
    struct adl_error err = {.text = ""};
    if (adl_dqn_trainer_checkpoint(trainer, &bytes, &err))
        fail_msg("%s", err.text);
    return bytes;
}

/* A checkpoint holds all parameters, the optimizer and the best network: equal ones, equal trainings. */
static void assert_same_bytes(struct adl_text *a, struct adl_text *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->data, b->data, a->size);
    adl_text_clear(a);
    adl_text_clear(b);
}

static struct adl_text whole_training(const struct adl_dqn_config *config)
{
    struct adl_dqn_trainer *trainer = create(config);
    prepare(trainer);
    train(trainer, ROUNDS);
    struct adl_text bytes = checkpoint(trainer);
    adl_dqn_trainer_destroy(trainer);
    return bytes;
}

static void the_number_of_threads_changes_nothing(void **state)
{
    (void)state;
    struct adl_scenario scenario = two_types();
    struct adl_dqn_config config = options(&scenario);
    struct adl_text one = whole_training(&config);
    config.threads = 2;
    struct adl_text two = whole_training(&config);
    assert_same_bytes(&one, &two);
    adl_scenario_clear(&scenario);
}

/* Interrupted before the first validation, and after. */
static void a_resumed_training_ends_in_the_same_bits(void **state)
{
    (void)state;
    struct adl_scenario scenario = two_types();
    struct adl_dqn_config config = options(&scenario);
    for (int rounds = 1; rounds <= 4; rounds += 3) {
        struct adl_error err = {.text = ""};
        struct adl_text whole = whole_training(&config);
        struct adl_dqn_trainer *first = create(&config), *second = create(&config);
        prepare(first);
        train(first, rounds);
        struct adl_text saved = checkpoint(first);
        if (adl_dqn_trainer_resume(second, saved.data, saved.size, &err))
            fail_msg("%s", err.text);
        const struct adl_dqn_report report = train(second, ROUNDS + 1);
        assert_int_equal(report.episodes, config.episodes);
        struct adl_text resumed = checkpoint(second);
        assert_same_bytes(&whole, &resumed);
        adl_text_clear(&saved);
        adl_dqn_trainer_destroy(first);
        adl_dqn_trainer_destroy(second);
    }
    adl_scenario_clear(&scenario);
}

static void refused(const struct adl_dqn_config *config, const struct adl_text *saved, const char *part)
{
    struct adl_error err = {.text = ""};
    struct adl_dqn_trainer *trainer = create(config);
    struct adl_text before = checkpoint(trainer);
    assert_true(adl_dqn_trainer_resume(trainer, saved->data, saved->size, &err) < 0);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" should speak of: %s", err.text, part);
    struct adl_text after = checkpoint(trainer);
    assert_same_bytes(&before, &after);
    adl_dqn_trainer_destroy(trainer);
}

static void a_checkpoint_of_other_options_or_none_at_all_is_refused(void **state)
{
    (void)state;
    struct adl_scenario scenario = two_types(), other_scenario = two_types();
    const struct adl_dqn_config config = options(&scenario);
    struct adl_dqn_config other = config;
    struct adl_error err = {.text = ""};
    struct adl_dqn_trainer *trainer = create(&config);
    prepare(trainer);
    train(trainer, 1);
    struct adl_text saved = checkpoint(trainer), model = {0};
    assert_int_equal(adl_dqn_trainer_model(trainer, &model, &err), 0);
    adl_dqn_trainer_destroy(trainer);
    other.seed = 2;
    refused(&other, &saved, "other options");
    other = config;
    other.tail = 1;
    refused(&other, &saved, "other options");
    other = config;
    other.head_width = 32;
    refused(&other, &saved, "other options");
    other = config;
    other_scenario.workload.arrivals.rate_per_h *= 2;
    other.scenario = &other_scenario;
    refused(&other, &saved, "another scenario");
    other_scenario.workload.arrivals = scenario.workload.arrivals;
    other_scenario.lambda *= 2;
    refused(&other, &saved, "another scenario");
    refused(&config, &model, "not a checkpoint");
    saved.size--;
    refused(&config, &saved, "");
    adl_text_clear(&saved);
    adl_text_clear(&model);
    adl_scenario_clear(&scenario);
    adl_scenario_clear(&other_scenario);
}

/* Mean completion time of random actions on the seeds that the trainer validates with. */
static double random_jct_s(const struct adl_scenario *scenario, uint32_t episodes)
{
    struct adlro_environment *env = NULL;
    struct adlro_shape shape;
    struct adlro_buffers shown;
    struct adl_error err;
    struct adl_rng rng;
    double sum = 0;
    adl_rng_seed(&rng, 1, "random");
    assert_int_equal(adl_environment_create(scenario, &(struct adlro_config){.count = 1}, &env, &err), 0);
    adlro_shape(env, &shape, sizeof shape);
    assert_int_equal(adl_buffers_create(&shape, &shown), 0);
    for (uint32_t e = 0; e < episodes; e++) {
        struct adlro_result result;
        assert_int_equal(adlro_reset(env, 0, ADL_SEED_VALIDATION + e, &shown, NULL), 0);
        while (!shown.done[0]) {
            const int32_t action = (int32_t)adl_rng_below(&rng, (uint32_t)shown.action_count[0]);
            assert_int_equal(adlro_step_one(env, 0, action, &shown, NULL), 0);
        }
        adlro_result(env, 0, &result, sizeof result);
        sum += result.jct_mean_s / episodes;
    }
    adl_buffers_clear(&shown);
    adlro_destroy(env);
    return sum;
}

/* The best validation of a training of LONG_ROUNDS rounds. */
static struct adl_dqn_report long_training(struct adl_dqn_config *config)
{
    struct adl_dqn_report best = {.validation_return = -HUGE_VAL};
    config->sweeps = LONG_SWEEPS;
    config->episodes = (uint64_t)LONG_ROUNDS * LONG_SWEEPS * ADL_SWEEP_EPISODES;
    config->validate_rounds = 1;
    config->validation_episodes = 64;
    struct adl_dqn_trainer *trainer = create(config);
    prepare(trainer);
    for (int r = 0; r < LONG_ROUNDS; r++) {
        const struct adl_dqn_report report = train(trainer, 1);
        assert_true(report.validated && report.updates > 0);
        assert_int_equal(report.validation.unfinished, 0);
        best = report.validation_return > best.validation_return ? report : best;
    }
    adl_dqn_trainer_destroy(trainer);
    return best;
}

static void a_short_training_without_a_warm_start_clearly_beats_chance(void **state)
{
    (void)state;
    struct adl_scenario scenario = two_types();
    struct adl_dqn_config config = options(&scenario);
    config.prior = 0;
    const struct adl_dqn_report best = long_training(&config);
    const double by_chance_s = random_jct_s(&scenario, config.validation_episodes);
    const double learned_s = best.validation.value[ADL_METRIC_JCT_MEAN];
    if (!(learned_s < 0.6 * by_chance_s))
        fail_msg("mean JCT %.2f s learned, %.2f s by chance", learned_s, by_chance_s);
    adl_scenario_clear(&scenario);
}

/* The warm start knows nothing of the weight of long completion times, and serves short jobs first. Of several
 * trainings, so that chance cannot do it. */
static void training_improves_on_its_warm_start(void **state)
{
    (void)state;
    struct adl_scenario scenario = two_types();
    double sum = 0;
    scenario.lambda = 0;
    scenario.workload.arrivals.rate_per_h = 4000;
    for (uint64_t seed = 1; seed <= TRAININGS; seed++) {
        struct adl_dqn_config config = options(&scenario);
        config.seed = seed;
        config.tail = 10;
        config.prior = 0.005;
        config.learning_rate = 1e-2;
        config.learning_rate_end = 1e-3;
        sum += long_training(&config).validation_return / TRAININGS;
    }
    if (!(sum > -0.93)) /* the warm start has -1 */
        fail_msg("the return is %.4f of the warm start's", -sum);
    adl_scenario_clear(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_of_threads_changes_nothing),
        cmocka_unit_test(a_resumed_training_ends_in_the_same_bits),
        cmocka_unit_test(a_checkpoint_of_other_options_or_none_at_all_is_refused),
        cmocka_unit_test(a_short_training_without_a_warm_start_clearly_beats_chance),
        cmocka_unit_test(training_improves_on_its_warm_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
