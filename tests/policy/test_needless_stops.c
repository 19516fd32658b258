/* No policy stops a job that nobody needs to be stopped: random worlds under every registered policy. What is held to
 * them exactly, and what cannot be, stands at the head of stop_checker.h. */
#include "random_scenario.h"
#include "stop_checker.h"

#include "experiment/run.h"
#include "scenario/scenario.h"

/* Scenarios; more of them with RANDOM_SCENARIOS=N in the environment. */
static uint64_t scenarios = 24;

static struct stop_checker checker;

/* Long enough waits for others that las, and gangs' claims, come to stop jobs, and rounds short enough for turns. */
static struct adl_scenario crowded_scenario(uint64_t seed)
{
    struct adl_scenario s = random_scenario(seed, 60);
    set_option(&s, "round_s", "15");
    set_option(&s, "las_limits_gpu_s", "20,60");
    return s;
}

static void run_checked(const struct adl_scenario *s, uint64_t seed, const struct adl_policy_ops *policy)
{
    struct adl_error err = {.text = ""};
    struct adl_result result;
    checker =
        (struct stop_checker){.switch_us = (int64_t)((s->preemption.checkpoint_s + s->preemption.restart_s) * 1e6)};
    const struct adl_observer observer = stop_observer(&checker);
    const struct adl_run run = {
        .scenario = s, .policy = policy, .seed = seed, .regime = (int)(seed % 2), .observer = &observer};
    if (adl_run(&run, &result, &err) || checker.unserved > 0 || checker.same_bad > 0)
        fail_msg("random scenario %llu, %s: %s: %s", (unsigned long long)seed, policy->name, err.text, checker.wrong);
}

static void every_stop_serves_whom_it_names_and_nobody_is_back_on_the_gpus_that_it_left(void **state)
{
    (void)state;
    uint64_t stops = 0, undisturbed = 0, same = 0, stopping_policies = 0;
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        uint64_t of_policy = 0;
        for (uint64_t seed = 1; seed <= scenarios; seed++) {
            struct adl_scenario s = crowded_scenario(seed);
            run_checked(&s, seed, adl_policy_at(p));
            of_policy += checker.stops;
            undisturbed += checker.undisturbed;
            same += checker.same;
            adl_scenario_clear(&s);
        }
        stops += of_policy;
        stopping_policies += of_policy >= 10; /* which jobs dqn stops depends on its kernels, so on the processor */
    }
    printf("%llu stops by %llu policies, %llu undisturbed; %llu started again on the same GPUs after a surprise\n",
           (unsigned long long)stops, (unsigned long long)stopping_policies, (unsigned long long)undisturbed,
           (unsigned long long)same);
    assert_true(stopping_policies >= 6);
    assert_true(undisturbed > stops / 2 && same < stops / 50);
}

/* mixed64 with jobs that begin at their beginning after a stop. gogh lost 40 % when a stop was priced as if it kept all
 * work. */
static void policies_lose_little_work_where_stopped_jobs_start_from_nothing(void **state)
{
    (void)state;
    struct adl_scenario s;
    struct adl_error err = {.text = ""};
    if (adl_scenario_load(ADL_SOURCE_DIR "/scenarios/mixed64.yaml", &s, NULL, &err))
        fail_msg("%s", err.text);
    s.workload.jobs = 300;
    for (uint32_t i = 0; i < s.workload.mix_count; i++)
        s.workload.mix[i].stop_loss = ADL_LOSS_ALL;
    for (uint32_t p = 0; p < adl_policy_count(); p++) {
        const struct adl_run run = {.scenario = &s, .policy = adl_policy_at(p), .seed = 1};
        struct adl_result result;
        if (adl_run(&run, &result, &err))
            fail_msg("%s: %s", run.policy->name, err.text);
        const double held_s =
            result.value[ADL_METRIC_UTILIZATION] * result.value[ADL_METRIC_MAKESPAN] * s.cluster.gpu_count;
        if ((double)result.lost_gpu_s > 0.1 * held_s)
            fail_msg("%s lost %.0f of %.0f GPU-seconds", run.policy->name, (double)result.lost_gpu_s, held_s);
    }
    adl_scenario_clear(&s);
}

int main(void)
{
    if (getenv("RANDOM_SCENARIOS"))
        scenarios = strtoull(getenv("RANDOM_SCENARIOS"), NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_lose_little_work_where_stopped_jobs_start_from_nothing),
        cmocka_unit_test(every_stop_serves_whom_it_names_and_nobody_is_back_on_the_gpus_that_it_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
