/* An engine that takes the place of another one knows what that one had learned of jobs. */
#include "engine/engine.h"
#include "gogh_fixture.h"
#include "policy/gogh/cost_model.h"

/* A world of events that a test has listed. Jobs that end are in slot 0, one after the other. */
struct listed_world {
    struct adl_event events[64];
    struct adl_job_spec specs[64];
    uint32_t count, next;
    int64_t now_us;
    uint32_t first; /* the slot that was started first; ADL_NONE: none yet */
};

static int next_event(void *world, struct adl_event *ret, struct adl_error *err)
{
    (void)err;
    struct listed_world *self = world;
    if (self->next == self->count)
        return 0;
    *ret = self->events[self->next];
    if (ret->kind == ADL_EVENT_SUBMIT)
        ret->submit.spec = &self->specs[self->next];
    self->next++;
    ret->more = self->next < self->count && self->events[self->next].time_us == ret->time_us;
    return 1;
}

static int carry_out(void *world, const struct adl_command *command, const uint32_t *gpus, struct adl_error *err)
{
    (void)gpus, (void)err;
    struct listed_world *self = world;
    if (command->kind == ADL_COMMAND_START && self->first == ADL_NONE)
        self->first = command->job;
    return 0;
}

static const struct adl_world_ops listed_ops = {.name = "listed", .next_event = next_event, .submit = carry_out};

static struct adl_job_spec named_spec(uint32_t name, double limit_s)
{
    struct adl_job_spec spec = gogh_spec(0, limit_s / 10, 0);
    spec.name_id = name;
    return spec;
}

static void list_submit(struct listed_world *world, uint32_t slot, struct adl_job_spec spec)
{
    spec.id = world->count + 1;
    world->specs[world->count] = spec;
    world->events[world->count++] =
        (struct adl_event){.kind = ADL_EVENT_SUBMIT, .time_us = world->now_us, .job = slot, .gpu = ADL_NONE};
}

/* A job of this name ran for so long. */
static void list_run(struct listed_world *world, uint32_t name, double limit_s, double run_s)
{
    struct adl_event end = {.kind = ADL_EVENT_FINISH, .job = 0, .gpu = ADL_NONE};
    list_submit(world, 0, named_spec(name, limit_s));
    world->now_us += (int64_t)(run_s * S);
    end.time_us = world->now_us;
    end.outcome = (struct adl_outcome){.end = ADL_END_COMPLETED, .run_us = (int64_t)(run_s * S)};
    world->events[world->count++] = end;
    world->now_us += S;
}

static struct adl_engine *open_engine(const struct adl_cluster *cluster, const char *policy, struct listed_world *world)
{
    struct adl_error err;
    struct adl_engine *engine = NULL;
    const struct adl_engine_config config = {.cluster = cluster,
                                             .policy = adl_policy_find(policy),
                                             .policy_config = {.preemption_us = 20 * S},
                                             .seed = 1,
                                             .learned = true,
                                             .world_ops = &listed_ops,
                                             .world = world};
    if (adl_engine_create(&config, &engine, &err))
        fail_msg("%s", err.text);
    return engine;
}

/* What the engine believes of the job that it was shown last. */
static int64_t believed_us(struct adl_engine *engine)
{
    struct adl_error err;
    if (adl_engine_run(engine, &err))
        fail_msg("%s", err.text);
    return adl_state_shortest_us(adl_engine_state(engine), 0);
}

static void make_cluster(struct adl_cluster *ret)
{
    gogh_types(ret);
    fixture_node(ret, FAST, 1);
}

static void run_times_are_predicted_as_before_by_any_policy_that_follows(void **state)
{
    (void)state;
    static const char *const policies[] = {"easy", "sjf", "gogh", "qssf", "easy"};
    struct adl_cluster cluster = {0};
    struct listed_world world = {.now_us = S};
    make_cluster(&cluster);
    for (int i = 0; i < 6; i++) {
        list_run(&world, 11, 5000, 20);
        list_run(&world, 22, 50, 40);
    }
    list_submit(&world, 0, named_spec(11, 5000));
    struct adl_engine *engine = open_engine(&cluster, "easy", &world);
    const int64_t before_us = believed_us(engine);
    struct listed_world again = {.now_us = world.now_us};
    list_submit(&again, 0, named_spec(11, 5000));
    struct adl_engine *stranger = open_engine(&cluster, "easy", &again);
    assert_true(believed_us(stranger) > 2 * before_us); /* by the limit alone */
    adl_engine_destroy(stranger);
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        again.next = 0;
        struct adl_engine *next = open_engine(&cluster, policies[i], &again);
        adl_engine_inherit(next, engine);
        adl_engine_destroy(engine);
        engine = next;
        assert_int_equal(believed_us(engine), before_us);
    }
    adl_engine_destroy(engine);
    adl_cluster_clear(&cluster);
}

/* What gogh believes of a job: speeds and loads. */
static struct adl_job_estimates look_at(struct adl_cost_model *cost_model, struct gogh_fixture *fixture, uint32_t slot,
                                        const struct adl_job_spec *spec)
{
    struct adl_job_features features;
    struct adl_job_estimates estimates;
    struct adl_event event = {.kind = ADL_EVENT_SUBMIT, .time_us = fixture->now_us, .job = slot, .gpu = ADL_NONE};
    event.submit.spec = spec;
    assert_int_equal(adl_cost_model_observe(cost_model, &event, fixture->state), 0);
    memset(&estimates, 0, sizeof estimates);
    adl_cost_model_features(cost_model, fixture->state, slot, &features);
    adl_cost_model_estimate(cost_model, &features, &estimates);
    return estimates;
}

static void speeds_and_loads_that_gogh_measured_go_to_the_next_gogh(void **state)
{
    (void)state;
    struct adl_error err;
    struct gogh_fixture fixture;
    struct adl_cost_model *old = NULL, *new = NULL;
    const struct adl_job_spec spec = gogh_spec(3, 100, 0);
    gogh_open_plain(&fixture, 1, 1);
    gogh_open(&fixture);
    gogh_submit(&fixture, 0, &spec);
    gogh_force(&fixture, 0, 0);
    struct adl_gogh_options options;
    assert_int_equal(adl_policy_options_fill(&adl_policy_gogh, &fixture.config, &fixture.cluster, &options, &err), 0);
    fixture.config.options = &options;
    assert_int_equal(adl_cost_model_create(&fixture.config, &fixture.cluster, &old, &err), 0);
    assert_int_equal(adl_cost_model_create(&fixture.config, &fixture.cluster, &new, &err), 0);
    const struct adl_job_estimates first = look_at(old, &fixture, 0, &spec);
    fixture.now_us = fixture.state->now_us = 100 * S;
    struct adl_event speed = {.kind = ADL_EVENT_PROGRESS, .time_us = fixture.now_us, .job = 0, .gpu = ADL_NONE};
    speed.steps_per_s = 7 * first.on[FAST].steps_per_s;
    struct adl_event power = {.kind = ADL_EVENT_TELEMETRY, .time_us = fixture.now_us, .job = ADL_NONE, .gpu = 0};
    power.telemetry.value[ADL_READ_POWER] = 100;
    for (int i = 0; i < GOGH_READINGS; i++) {
        assert_int_equal(adl_cost_model_observe(old, &speed, fixture.state), 0);
        assert_int_equal(adl_cost_model_observe(old, &power, fixture.state), 0);
    }
    const struct adl_job_estimates before = look_at(old, &fixture, 0, &spec);
    assert_true(before.on[FAST].steps_per_s > 2 * first.on[FAST].steps_per_s);
    assert_true(before.on[FAST].load < first.on[FAST].load);
    adl_cost_model_inherit(new, old);
    adl_cost_model_destroy(old);
    const struct adl_job_estimates after = look_at(new, &fixture, 0, &spec);
    assert_memory_equal(&after, &before, sizeof after);
    adl_cost_model_destroy(new);
    gogh_close(&fixture);
}

static struct adl_engine *open_qssf(struct adl_engine_config *config, const struct adl_policy_ops *policy,
                                    struct listed_world *world, struct adl_engine *from)
{
    struct adl_error err;
    struct adl_engine *engine = NULL;
    config->policy = policy;
    config->world = world;
    world->next = 0;
    world->first = ADL_NONE;
    assert_int_equal(adl_engine_create(config, &engine, &err), 0);
    if (from)
        adl_engine_inherit(engine, from);
    adl_engine_destroy(from);
    assert_int_equal(adl_engine_run(engine, &err), 0);
    return engine;
}

/* Run times are not learned for all policies alike here: the history is that of qssf. */
static void what_qssf_learned_outlives_a_while_under_another_policy(void **state)
{
    (void)state;
    struct adl_cluster cluster = {0};
    struct listed_world lessons = {.now_us = S}, nothing = {.now_us = S}, two = {.now_us = S};
    struct adl_engine_config config = {.cluster = &cluster, .seed = 1, .world_ops = &listed_ops};
    make_cluster(&cluster);
    for (int i = 0; i < 6; i++) {
        list_run(&lessons, 11, 5000, 20);
        list_run(&lessons, 22, 1000, 400);
    }
    list_submit(&two, 0, named_spec(11, 5000));
    list_submit(&two, 1, named_spec(22, 1000));
    struct adl_engine *engine = open_qssf(&config, &adl_policy_qssf, &lessons, NULL);
    engine = open_qssf(&config, &adl_policy_easy, &nothing, engine);
    engine = open_qssf(&config, &adl_policy_qssf, &two, engine);
    assert_int_equal(two.first, 0); /* which takes 20 s, as far as is known */
    adl_engine_destroy(engine);
    engine = open_qssf(&config, &adl_policy_qssf, &two, NULL);
    assert_int_equal(two.first, 1); /* by the limits alone */
    adl_engine_destroy(engine);
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_times_are_predicted_as_before_by_any_policy_that_follows),
        cmocka_unit_test(speeds_and_loads_that_gogh_measured_go_to_the_next_gogh),
        cmocka_unit_test(what_qssf_learned_outlives_a_while_under_another_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
