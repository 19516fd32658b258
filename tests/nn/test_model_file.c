/* Models as bytes and as files: whole, or refused with what would be right. */
#include "model_seal.h"
#include "nn_fixture.h"
#include "rl/model_store.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct adl_qnet_shape small = {ADL_QNET_SHARED, 2, 1, 1, 16, 16, 0};

/* A small model and its bytes. */
struct setup {
    struct adl_model model;
    float *params;
    struct adl_text bytes;
};

static void setup_make(const struct adl_qnet_shape *shape, struct setup *ret)
{
    struct setup s = {0};
    struct adl_qnet net;
    struct adl_error err = {{0}};
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "model");
    assert_int_equal(adl_qnet_make(shape, adl_kernels_choose(true), &net, &err), 0);
    s.params = nn_numbers(net.parameter_count);
    adl_qnet_init(&net, &rng, s.params);
    s.model = (struct adl_model){.schema = 3,
                                 .shape = *shape,
                                 .scenario_hash = 0xfedcba9876543210u,
                                 .seed = UINT64_MAX,
                                 .episodes = 1000000,
                                 .params = s.params,
                                 .parameter_count = net.parameter_count};
    adl_model_section_add(&s.model, ADL_MODEL_NORMALIZER, "\0\1\2", 3);
    adl_model_section_add(&s.model, ADL_MODEL_SCORES, "jct=1.5\n", 8);
    adl_model_section_add(&s.model, "sixteen-letters-", NULL, 0);
    assert_int_equal(adl_model_encode(&s.model, &s.bytes, &err), 0);
    *ret = s;
}

static void setup_clear(struct setup *s)
{
    free(s->params);
    adl_text_clear(&s->bytes);
}

static void assert_same(const struct adl_model *a, const struct adl_model *b)
{
    assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
    assert_int_equal(a->schema, b->schema);
    assert_true(a->scenario_hash == b->scenario_hash && a->seed == b->seed && a->episodes == b->episodes);
    assert_int_equal(a->parameter_count, b->parameter_count);
    assert_memory_equal(a->params, b->params, a->parameter_count * sizeof *a->params);
    assert_int_equal(a->section_count, b->section_count);
    for (int i = 0; i < a->section_count; i++) {
        assert_string_equal(a->sections[i].tag, b->sections[i].tag);
        assert_int_equal(a->sections[i].size, b->sections[i].size);
        if (a->sections[i].size > 0)
            assert_memory_equal(a->sections[i].bytes, b->sections[i].bytes, a->sections[i].size);
    }
}

static void what_was_encoded_is_decoded(void **state)
{
    (void)state;
    const struct adl_qnet_shape shapes[] = {small, {ADL_QNET_PAPER, 1, 5, 0, 32, 128, 16}};
    for (int i = 0; i < 2; i++) {
        struct setup s;
        struct adl_model model;
        struct adl_error err = {{0}};
        setup_make(&shapes[i], &s);
        assert_int_equal(adl_model_decode(s.bytes.data, s.bytes.size, 3, &model, &err), 0);
        assert_same(&model, &s.model);
        assert_non_null(adl_model_section_find(&model, ADL_MODEL_SCORES));
        assert_null(adl_model_section_find(&model, ADL_MODEL_TRAINER));
        adl_model_clear(&model);
        setup_clear(&s);
    }
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct setup s;
    setup_make(&small, &s);
    for (size_t i = 0; i < s.bytes.size; i++) {
        struct adl_model model = {.seed = 7};
        struct adl_error err = {{0}};
        s.bytes.data[i] = (char)(s.bytes.data[i] ^ (1 << i % 8));
        assert_int_equal(adl_model_decode(s.bytes.data, s.bytes.size, 0, &model, &err), ADL_EINVAL);
        assert_true(err.text[0] != '\0' && model.seed == 7 && !model.block);
        s.bytes.data[i] = (char)(s.bytes.data[i] ^ (1 << i % 8));
    }
    setup_clear(&s);
}

/* With the checksum made right again the reader has to find out by itself, or read what makes sense. */
static void every_changed_byte_behind_a_right_checksum_is_survived(void **state)
{
    (void)state;
    struct setup s;
    setup_make(&small, &s);
    size_t refused = 0;
    unsigned char *copy = nn_must_have(malloc(s.bytes.size));
    for (size_t i = 0; i < s.bytes.size - 8; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            struct adl_model model = {.block = NULL};
            struct adl_error err = {{0}};
            memcpy(copy, s.bytes.data, s.bytes.size);
            copy[i] = (unsigned char)(copy[i] ^ 1 << bit);
            model_seal(copy, s.bytes.size);
            if (adl_model_decode(copy, s.bytes.size, 0, &model, &err) < 0)
                refused++;
            adl_model_clear(&model);
        }
    assert_true(refused > 300);
    free(copy);
    setup_clear(&s);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    struct setup s;
    setup_make(&small, &s);
    for (size_t size = 0; size < s.bytes.size; size++) {
        struct adl_model model;
        struct adl_error err = {{0}};
        char *part = nn_must_have(malloc(size + 1)); /* of its own, so that a sanitizer sees what is read behind it */
        memcpy(part, s.bytes.data, size);
        assert_int_equal(adl_model_decode(part, size, 0, &model, &err), ADL_EINVAL);
        assert_non_null(strstr(err.text, size < 32 ? "not a model" : "it was cut off"));
        if (size >= 40) {
            model_seal((unsigned char *)part, size); /* shortened by someone who knows how */
            assert_int_equal(adl_model_decode(part, size, 0, &model, &err), ADL_EINVAL);
        }
        free(part);
    }
    setup_clear(&s);
}

static void refuse_edited(const char *from, const char *to, const char *says)
{
    struct setup s;
    struct adl_model model;
    struct adl_error err = {{0}};
    setup_make(&small, &s);
    const size_t length = strlen(from);
    size_t at = 0;
    while (at + length <= s.bytes.size && memcmp(s.bytes.data + at, from, length) != 0)
        at++;
    assert_true(at + length <= s.bytes.size && strlen(to) == length);
    memcpy(s.bytes.data + at, to, length);
    model_seal((unsigned char *)s.bytes.data, s.bytes.size);
    assert_int_equal(adl_model_decode(s.bytes.data, s.bytes.size, 3, &model, &err), ADL_EINVAL);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    setup_clear(&s);
}

static void refusals_say_what_would_be_right(void **state)
{
    (void)state;
    refuse_edited("ADLROMDL\1", "ADLROMDL\2", "this program reads version 1");
    refuse_edited("ADLROMDL", "ADLROMDX", "begins with ADLROMDL");
    refuse_edited("schema=3", "schema=4", "this program has schema 3: train it again");
    refuse_edited("kind=shared", "kind=spared", "there are shared and paper");
    refuse_edited("gpu_width=16", "gpu_width=17", "a multiple of 16");
    refuse_edited("gpu_width=16", "gpu_width=32", "parameters, not");
    refuse_edited("head_width", "head_wodth", "must say head_width=... next");
    refuse_edited("seed=1844", "seed=9844", "seed=98446744073709551615, which must be a whole number");
    refuse_edited("episodes=1", "episodes=-", "a whole number");
    refuse_edited("episodes=1", "episodes=0",
                  "a whole number"); /* 0000000: as good a number, but not the one way to write it */
    refuse_edited("parameters=", "parameters:", "must say parameters=");
    refuse_edited("normalizer", "normaliz/r", "no proper name");
}

static void a_parameter_that_is_not_a_number_is_refused_both_ways(void **state)
{
    (void)state;
    struct setup s;
    struct adl_error err = {{0}};
    setup_make(&small, &s);
    const size_t size = s.bytes.size;
    s.params[5] = (float)NAN;
    assert_int_equal(adl_model_encode(&s.model, &s.bytes, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "parameter 5"));
    assert_int_equal(s.bytes.size, size);
    s.params[5] = 0;
    s.model.parameter_count--;
    assert_int_equal(adl_model_encode(&s.model, &s.bytes, &err), ADL_EINVAL);
    s.model.parameter_count++;
    adl_model_section_add(&s.model, ADL_MODEL_SCORES, "", 0);
    assert_int_equal(adl_model_encode(&s.model, &s.bytes, &err), ADL_EINVAL);
    setup_clear(&s);
}

/* ---- files ---- */

static int count_files(const char *directory)
{
    int count = 0;
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void a_file_is_replaced_whole_or_left_alone(void **state)
{
    (void)state;
    struct setup s;
    struct adl_model model;
    struct adl_error err = {{0}};
    char directory[] = "/tmp/adlro-model-XXXXXX", path[64], wrong[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/m.adlro", directory);
    snprintf(wrong, sizeof wrong, "%s/none/m.adlro", directory);
    setup_make(&small, &s);
    assert_int_equal(adl_model_store_write(path, &s.model, &err), 0);
    s.model.episodes = 5;
    assert_int_equal(adl_model_store_write(path, &s.model, &err), 0);
    s.params[0] = (float)NAN;
    assert_int_equal(adl_model_store_write(path, &s.model, &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, path));
    s.params[0] = 0;
    assert_int_equal(adl_model_store_write(wrong, &s.model, &err), ADL_EIO);
    assert_int_equal(adl_model_store_write(directory, &s.model, &err), ADL_EIO);
    assert_int_equal(count_files(directory), 1);
    char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(adl_model_store_read_bytes(path, &bytes, &size, &err), 0);
    assert_int_equal(adl_model_decode(bytes, size, 3, &model, &err), 0);
    assert_int_equal(model.episodes, 5);
    adl_model_clear(&model);
    free(bytes);
    assert_int_equal(adl_model_store_read_bytes(wrong, &bytes, &size, &err), ADL_EIO);
    assert_int_equal(adl_model_store_read_bytes(directory, &bytes, &size, &err), ADL_EINVAL);
    assert_int_equal(adl_model_store_read_bytes("/dev/zero", &bytes, &size, &err), ADL_EINVAL);
    unlink(path);
    assert_int_equal(rmdir(directory), 0);
    setup_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_encoded_is_decoded),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(every_changed_byte_behind_a_right_checksum_is_survived),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(refusals_say_what_would_be_right),
        cmocka_unit_test(a_parameter_that_is_not_a_number_is_refused_both_ways),
        cmocka_unit_test(a_file_is_replaced_whole_or_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
