/* A belief as bytes: what it predicts survives, what is damaged is refused, what another cluster does not have is
 * skipped and counted. */
#include "base/rng.h"
#include "estimates_fixture.h"
#include "model_seal.h"
#include "predict/past_jobs.h"

#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000)
enum { JOBS = 40, PROFILES = 6, CAPACITY = 64 };

static struct adl_job_class classes[] = {{.name = "vision"}, {.name = "speech"}, {.name = "text"}};

static struct adl_belief_terms terms_of(const struct adl_cluster *cluster)
{
    return (struct adl_belief_terms){cluster, classes, 3, ADL_USERS_NAMED, true, "a test"};
}

static struct adl_traits traits_of(uint32_t i)
{
    const struct adl_job_spec spec = {.user = 100 + i % 5,
                                      .name_id = 1 + i % 7,
                                      .class_index = (uint16_t)(i % 3),
                                      .gpus = (uint16_t)(1 << i % 3),
                                      .types = 1u << i % TYPES,
                                      .cpu_cores = 4,
                                      .priority = 0.5f,
                                      .limit_us = (i % 4 ? 600 + 60 * i : 0) * SECOND};
    struct adl_traits traits;
    adl_traits_read(&traits, &spec, (int64_t)i * 500 * SECOND);
    return traits;
}

static struct adl_similar *similar_make(uint32_t capacity)
{
    struct adl_similar *similar = NULL;
    assert_int_equal(adl_similar_create(capacity, &similar, NULL), 0);
    return similar;
}

static struct adl_similar *similar_taught(uint32_t capacity, uint32_t jobs)
{
    struct adl_similar *similar = similar_make(capacity);
    for (uint32_t i = 0; i < jobs; i++) {
        const struct adl_traits traits = traits_of(i);
        adl_similar_learn(similar, &traits, (30 + 13 * (int64_t)(i % 11)) * SECOND, i % 3);
    }
    return similar;
}

/* Shares are predicted on demand and kept, so a question is part of the past, too. */
static struct adl_estimates *estimates_taught(const struct adl_cluster *cluster)
{
    struct adl_estimates *e = estimates_make(cluster, PROFILES);
    struct adl_estimate found;
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "taught");
    for (int i = 0; i < 200; i++) {
        const struct adl_job_spec spec = job_make(adl_rng_below(&rng, PROFILES + 2)), other = job_make(0);
        const uint32_t p = adl_estimates_profile(e, &spec, false), n = adl_estimates_profile(e, &other, false);
        adl_estimates_measure(e, p, adl_rng_below(&rng, TYPES), i % 3 ? ADL_NONE : n, 1 + 20 * adl_rng_uniform(&rng));
        adl_estimates_find(e, p, adl_rng_below(&rng, TYPES), n, &found);
    }
    return e;
}

static struct adl_text encoded(struct adl_similar *similar, const struct adl_belief_terms *terms)
{
    struct adl_text text = {0};
    const struct adl_belief_parts parts = {.similar = similar};
    adl_belief_parts_encode(&parts, terms, &text);
    assert_int_equal(adl_text_status(&text), 0);
    return text;
}

static int decode(const struct adl_text *text, const struct adl_belief_terms *terms, struct adl_similar *similar,
                  struct adl_belief_account *ret, struct adl_error *err)
{
    const struct adl_belief_parts parts = {.similar = similar};
    return adl_belief_parts_decode(text->data, text->size, terms, &parts, ret, err);
}

static void assert_predicts_the_same(struct adl_similar *a, struct adl_similar *b)
{
    for (uint32_t i = 0; i < 2 * JOBS; i++) {
        const struct adl_traits traits = traits_of(i);
        struct adl_similar_prediction x, y;
        assert_true(adl_similar_predict(a, &traits, &x) && adl_similar_predict(b, &traits, &y));
        assert_int_equal(x.run_us, y.run_us);
        assert_memory_equal(&x.spread, &y.spread, sizeof x.spread);
        assert_int_equal(x.class_index, y.class_index);
        assert_int_equal(x.neighbours, y.neighbours);
    }
}

static void jobs_that_were_written_predict_the_same_when_read(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    const struct adl_belief_terms terms = terms_of(&cluster);
    for (uint32_t jobs = 1; jobs <= 2 * CAPACITY; jobs += 21) { /* the ring wraps around */
        struct adl_similar *before = similar_taught(CAPACITY, jobs), *after = similar_make(CAPACITY);
        struct adl_text text = encoded(before, &terms);
        struct adl_belief_account account;
        struct adl_error err;
        assert_int_equal(decode(&text, &terms, after, &account, &err), 0);
        assert_int_equal(account.jobs.jobs, jobs < CAPACITY ? jobs : CAPACITY);
        assert_int_equal(account.jobs.skipped + account.unknown_types + account.unknown_classes, 0);
        assert_predicts_the_same(before, after);
        const struct adl_traits traits = traits_of(3); /* and they learn the same from then on */
        adl_similar_learn(before, &traits, 77 * SECOND, 1);
        adl_similar_learn(after, &traits, 77 * SECOND, 1);
        assert_predicts_the_same(before, after);
        struct adl_text x = encoded(before, &terms), y = encoded(after, &terms);
        assert_int_equal(x.size, y.size);
        assert_memory_equal(x.data, y.data, x.size);
        adl_text_clear(&x);
        adl_text_clear(&y);
        adl_text_clear(&text);
        adl_similar_destroy(before);
        adl_similar_destroy(after);
    }
    adl_cluster_clear(&cluster);
}

static void assert_estimates_the_same(struct adl_estimates *a, struct adl_estimates *b)
{
    for (uint32_t p = 0; p < PROFILES; p++)
        for (uint32_t n = 0; n <= PROFILES; n++)
            for (uint32_t t = 0; t < TYPES; t++) {
                struct adl_estimate x, y;
                adl_estimates_find(a, p, t, n < PROFILES ? n : ADL_NONE, &x);
                adl_estimates_find(b, p, t, n < PROFILES ? n : ADL_NONE, &y);
                assert_memory_equal(&x.steps_per_s, &y.steps_per_s, sizeof x.steps_per_s);
                assert_memory_equal(&x.low, &y.low, sizeof x.low);
                assert_int_equal(x.measurements, y.measurements);
                assert_int_equal(x.source, y.source);
            }
}

static void speeds_that_were_written_are_the_same_when_read(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    struct adl_error err;
    struct adl_text text = {0};
    struct adl_estimate_account account;
    cluster_make(&cluster);
    struct adl_translation same = {.same = true, .type_count = TYPES};
    for (uint32_t t = 0; t < TYPES; t++)
        same.type_of[t] = t;
    struct adl_estimates *before = estimates_taught(&cluster), *after = estimates_make(&cluster, PROFILES);
    adl_estimates_encode(before, &text);
    struct adl_unpack from = {(unsigned char *)text.data, (unsigned char *)text.data + text.size, false};
    assert_int_equal(adl_estimates_decode(after, &from, &same, &account, &err), 0);
    assert_ptr_equal(from.at, from.end);
    assert_int_equal(account.profiles, PROFILES);
    assert_true(account.cells > PROFILES);
    assert_estimates_the_same(before, after);
    const struct adl_job_spec another = job_make(PROFILES + 3);
    struct adl_estimates *const both[] = {before, after};
    for (int i = 0; i < 2; i++) { /* the same one is forgotten, the same is estimated of the new one */
        const uint32_t p = adl_estimates_profile(both[i], &another, false);
        adl_estimates_measure(both[i], p, 1, ADL_NONE, 4.5);
    }
    assert_estimates_the_same(before, after);
    adl_text_clear(&text);
    adl_estimates_destroy(before);
    adl_estimates_destroy(after);
    adl_cluster_clear(&cluster);
}

static void every_changed_byte_is_refused_with_a_reason(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    const struct adl_belief_terms terms = terms_of(&cluster);
    struct adl_similar *before = similar_taught(8, 8), *after = similar_make(8);
    struct adl_text text = encoded(before, &terms);
    struct adl_belief_account account;
    for (size_t i = 0; i < text.size; i++) {
        struct adl_error err = {{0}};
        text.data[i] = (char)(text.data[i] ^ 0x20);
        assert_int_equal(decode(&text, &terms, after, &account, &err), ADL_EINVAL);
        assert_true(err.text[0] != '\0');
        text.data[i] = (char)(text.data[i] ^ 0x20);
    }
    for (size_t size = 0; size < text.size; size++) {
        const struct adl_text cut = {.data = text.data, .size = size};
        assert_int_equal(decode(&cut, &terms, after, &account, NULL), ADL_EINVAL);
    }
    adl_text_clear(&text);
    adl_similar_destroy(before);
    adl_similar_destroy(after);
    adl_cluster_clear(&cluster);
}

/* Damage behind a checksum that holds: by a program, not by a disk. */
static void bytes_that_are_sealed_again_are_read_or_refused_and_never_crash(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    cluster_make(&cluster);
    const struct adl_belief_terms terms = terms_of(&cluster);
    struct adl_similar *before = similar_taught(4, 4);
    struct adl_text text = encoded(before, &terms);
    uint32_t refused = 0;
    for (size_t i = 24; i < text.size - 8; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            struct adl_similar *after = similar_make(4);
            struct adl_belief_account account;
            struct adl_error err = {{0}};
            text.data[i] = (char)(text.data[i] ^ 1 << bit);
            model_seal((unsigned char *)text.data, text.size);
            const int status = decode(&text, &terms, after, &account, &err);
            assert_true(status == 0 || (status == ADL_EINVAL && err.text[0] != '\0'));
            refused += status != 0;
            text.data[i] = (char)(text.data[i] ^ 1 << bit);
            adl_similar_destroy(after);
        }
    assert_true(refused > 20);
    adl_text_clear(&text);
    adl_similar_destroy(before);
    adl_cluster_clear(&cluster);
}

static void another_version_is_refused_by_its_number(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    struct adl_error err;
    struct adl_belief_account account;
    cluster_make(&cluster);
    const struct adl_belief_terms terms = terms_of(&cluster);
    struct adl_similar *before = similar_taught(4, 4), *after = similar_make(4);
    struct adl_text text = encoded(before, &terms);
    text.data[8] = 99;
    model_seal((unsigned char *)text.data, text.size);
    assert_int_equal(decode(&text, &terms, after, &account, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "version 99"));
    assert_non_null(strstr(err.text, "newer"));
    adl_text_clear(&text);
    adl_similar_destroy(before);
    adl_similar_destroy(after);
    adl_cluster_clear(&cluster);
}

static void types_and_classes_are_found_by_name_on_another_cluster(void **state)
{
    (void)state;
    struct adl_cluster cluster, other = {0};
    struct adl_error err;
    struct adl_belief_account account;
    struct adl_job_class reversed[] = {{.name = "text"}, {.name = "speech"}};
    cluster_make(&cluster);
    for (uint32_t t = TYPES; t-- > 1;) /* without the first type, in the other order */
        assert_int_equal(adl_cluster_add_type(&other, &cluster.types[t], &err), 0);
    const struct adl_belief_terms terms = terms_of(&cluster);
    const struct adl_belief_terms there = {&other, reversed, 2, ADL_USERS_NAMED, true, "a test"};
    struct adl_similar *before = similar_taught(CAPACITY, TYPES * 6), *after = similar_make(CAPACITY);
    struct adl_text text = encoded(before, &terms);
    assert_int_equal(decode(&text, &there, after, &account, &err), 0);
    assert_int_equal(account.unknown_types, 1);
    assert_int_equal(account.unknown_classes, 1);
    assert_int_equal(account.jobs.skipped, 6);
    assert_int_equal(account.jobs.jobs, (TYPES - 1) * 6);
    struct adl_text said = {0};
    adl_belief_account_say(&account, &said);
    assert_non_null(strstr(said.data, "6 jobs ran on GPU types that this cluster does not have"));
    adl_text_clear(&said);
    adl_text_clear(&text);
    adl_similar_destroy(before);
    adl_similar_destroy(after);
    adl_cluster_clear(&other);
    adl_cluster_clear(&cluster);
}

static void measured_speeds_move_to_a_cluster_with_other_types(void **state)
{
    (void)state;
    struct adl_cluster cluster, other = {0};
    struct adl_error err;
    struct adl_text text = {0};
    struct adl_estimate_account account;
    struct adl_estimate was, is;
    const struct adl_job_spec spec = job_make(1);
    uint32_t class_of[JOBS];
    cluster_make(&cluster);
    assert_int_equal(adl_cluster_add_type(&other, &cluster.types[1], &err), 0);
    for (uint32_t c = 0; c < JOBS; c++)
        class_of[c] = c;
    struct adl_translation to = {.type_count = TYPES, .class_count = JOBS, .class_of = class_of};
    for (uint32_t t = 0; t < TYPES; t++)
        to.type_of[t] = t == 1 ? 0 : ADL_NONE;
    struct adl_estimates *before = estimates_make(&cluster, PROFILES), *after = estimates_make(&other, PROFILES);
    uint32_t p = adl_estimates_profile(before, &spec, false);
    adl_estimates_measure(before, p, 1, ADL_NONE, 12.5);
    adl_estimates_measure(before, p, 0, ADL_NONE, 3.5);
    adl_estimates_find(before, p, 1, ADL_NONE, &was);
    adl_estimates_encode(before, &text);
    struct adl_unpack from = {(unsigned char *)text.data, (unsigned char *)text.data + text.size, false};
    assert_int_equal(adl_estimates_decode(after, &from, &to, &account, &err), 0);
    assert_ptr_equal(from.at, from.end);
    assert_int_equal(account.cells, 1);
    assert_int_equal(account.skipped, 1);
    p = adl_estimates_profile(after, &spec, false);
    adl_estimates_find(after, p, 0, ADL_NONE, &is);
    assert_int_equal(is.source, ADL_ESTIMATE_MEASURED);
    assert_true(was.steps_per_s == is.steps_per_s);
    adl_text_clear(&text);
    adl_estimates_destroy(before);
    adl_estimates_destroy(after);
    adl_cluster_clear(&other);
    adl_cluster_clear(&cluster);
}

/* The moments of a simulation mean nothing to a service, nor do numbers that a workload draws for its users. */
static void what_means_nothing_elsewhere_is_unknown_there(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    struct adl_error err;
    struct adl_belief_account account;
    cluster_make(&cluster);
    struct adl_belief_terms drawn = terms_of(&cluster);
    drawn.users = ADL_USERS_DRAWN;
    drawn.dated = false;
    struct adl_similar *before = similar_taught(CAPACITY, JOBS), *after = similar_make(CAPACITY);
    struct adl_text text = encoded(before, &drawn);
    assert_int_equal(decode(&text, &drawn, after, &account, &err), 0);
    assert_true(account.jobs.last_us == 0);
    struct adl_text again = encoded(after, &drawn);
    assert_int_equal(again.size, text.size - JOBS * 3 * 8); /* user, time of day, time */
    adl_text_clear(&again);
    adl_text_clear(&text);
    adl_similar_destroy(before);
    adl_similar_destroy(after);
    adl_cluster_clear(&cluster);
}

/* One job after the other, each predicted and then compared with what it took. */
static void teach(struct adl_past_jobs *jobs, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        const struct adl_job_spec spec = {.user = 7 + i % 3,
                                          .name_id = 1 + i % 5,
                                          .class_index = (uint16_t)(i % 3),
                                          .gpus = (uint16_t)(1 + i % 2),
                                          .types = 7,
                                          .limit_us = 900 * SECOND};
        const int64_t submit_us = (int64_t)i * 60 * SECOND, run_us = (20 + 11 * (int64_t)(i % 13)) * SECOND;
        const struct adl_past_job job = {.spec = &spec,
                                         .submit_us = submit_us,
                                         .end_us = submit_us + run_us,
                                         .run_us = run_us,
                                         .type = i % TYPES,
                                         .steps_per_s = 1e6 / (double)run_us};
        assert_int_equal(adl_past_jobs_submit(jobs, 0, &spec, submit_us), 0);
        assert_true(adl_past_jobs_end(jobs, 0, &job));
    }
}

static void a_whole_belief_learns_on_as_if_it_had_never_been_written(void **state)
{
    (void)state;
    struct adl_cluster cluster;
    struct adl_error err;
    struct adl_belief_account account;
    struct adl_belief *beliefs[2] = {NULL};
    struct adl_past_jobs *jobs[2] = {NULL};
    struct adl_text texts[2] = {{0}};
    cluster_make(&cluster);
    for (uint32_t t = 0; t < TYPES; t++) {
        struct adl_node node = {.name = {(char)('a' + t)}, .cpu_cores = 64, .memory_mib = 65536, .link_gbs = 10};
        const struct adl_bank_spec bank = {.type = t, .gpu_count = 4};
        assert_int_equal(adl_cluster_add_node(&cluster, &node, &bank, 1, &err), 0);
    }
    const struct adl_belief_terms terms = terms_of(&cluster);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(adl_belief_create(&cluster, true, &beliefs[i]), 0);
        assert_int_equal(adl_past_jobs_create(&cluster, beliefs[i], &jobs[i]), 0);
    }
    teach(jobs[0], 0, 100);
    adl_belief_encode(beliefs[0], NULL, &terms, &texts[0]);
    assert_int_equal(adl_belief_decode(beliefs[1], NULL, texts[0].data, texts[0].size, &terms, &account, &err), 0);
    assert_int_equal(account.jobs.jobs, 100);
    assert_int_equal(account.ended, 100);
    assert_true(account.speeds.cells > 10);
    assert_int_equal(adl_belief_count(beliefs[1]), adl_belief_count(beliefs[0]));
    for (int i = 0; i < 2; i++) {
        teach(jobs[i], 100, 50);
        adl_text_clear(&texts[i]);
        adl_belief_encode(beliefs[i], NULL, &terms, &texts[i]);
    }
    assert_int_equal(texts[0].size, texts[1].size);
    assert_memory_equal(texts[0].data, texts[1].data, texts[0].size);
    texts[1].data[texts[1].size / 2] ^= 1; /* damage changes nothing */
    assert_int_equal(adl_belief_decode(beliefs[0], NULL, texts[1].data, texts[1].size, &terms, &account, &err),
                     ADL_EINVAL);
    adl_text_clear(&texts[1]);
    adl_belief_encode(beliefs[0], NULL, &terms, &texts[1]);
    assert_memory_equal(texts[0].data, texts[1].data, texts[0].size);
    for (int i = 0; i < 2; i++) {
        adl_past_jobs_destroy(jobs[i]);
        adl_belief_destroy(beliefs[i]);
        adl_text_clear(&texts[i]);
    }
    adl_cluster_clear(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_that_were_written_predict_the_same_when_read),
        cmocka_unit_test(speeds_that_were_written_are_the_same_when_read),
        cmocka_unit_test(a_whole_belief_learns_on_as_if_it_had_never_been_written),
        cmocka_unit_test(every_changed_byte_is_refused_with_a_reason),
        cmocka_unit_test(bytes_that_are_sealed_again_are_read_or_refused_and_never_crash),
        cmocka_unit_test(another_version_is_refused_by_its_number),
        cmocka_unit_test(types_and_classes_are_found_by_name_on_another_cluster),
        cmocka_unit_test(measured_speeds_move_to_a_cluster_with_other_types),
        cmocka_unit_test(what_means_nothing_elsewhere_is_unknown_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
