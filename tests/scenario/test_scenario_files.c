/* Files of scenarios: a file with its catalogue, and every one that the project has. */
#include "scenario/catalogue.h"
#include "scenario_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "shared_data.h"

#define MEASUREMENTS SHARED_DATA "data/gavel/simulation_throughputs.json"

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* In the middle of a text: no zero byte follows. */
static void overwrite(char *at, const char *with)
{
    while (*with)
        *at++ = *with++;
}

static void write_whole(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void a_file_is_loaded_with_the_catalogue_beside_it_and_both_texts_are_kept(void **state)
{
    (void)state;
    char folder[] = "/tmp/adlro-scenario-XXXXXX", path[64], beside[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s.yaml", folder);
    snprintf(beside, sizeof beside, "%s/catalogue.yaml", folder);
    char *text = read_whole(ADL_SOURCE_DIR "/tests/corpus/scenario/full.yaml");
    struct adl_scenario scenario;
    struct adl_scenario_text texts;
    struct adl_error err = {{0}};
    char expected[200];

    assert_int_equal(adl_scenario_load(path, &scenario, &texts, &err), ADL_EIO);
    snprintf(expected, sizeof expected, "cannot open %s: No such file or directory", path);
    assert_string_equal(err.text, expected);
    assert_int_equal(adl_scenario_load(folder, &scenario, NULL, &err), ADL_EIO);
    snprintf(expected, sizeof expected, "cannot read %s: Is a directory", folder);
    assert_string_equal(err.text, expected);

    char *name = strstr(text, "catalogue.yaml");
    assert_non_null(name);
    overwrite(name, "not-there.yaml");
    write_whole(path, text);
    assert_int_equal(adl_scenario_load(path, &scenario, &texts, &err), ADL_EIO);
    snprintf(expected, sizeof expected, "%s:3: catalogue: cannot open %s/not-there.yaml: No such file or directory",
             path, folder);
    assert_string_equal(err.text, expected);
    overwrite(name, "catalogue.yaml");

    write_whole(path, text);
    write_whole(beside, fixture_catalogue);
    assert_int_equal(adl_scenario_load(path, &scenario, &texts, &err), 0);
    assert_string_equal(scenario.name, "full");
    assert_string_equal(texts.scenario, text);
    assert_int_equal(texts.scenario_size, strlen(text));
    assert_string_equal(texts.catalogue, fixture_catalogue);
    assert_int_equal(texts.catalogue_size, strlen(fixture_catalogue));
    adl_scenario_text_clear(&texts);
    adl_scenario_clear(&scenario);
    assert_int_equal(adl_scenario_load(path, &scenario, NULL, &err), 0);
    adl_scenario_clear(&scenario);
    remove(path);
    remove(beside);
    remove(folder);
    free(text);
}

static void a_file_without_its_catalogue_beside_it_uses_the_shipped_one(void **state)
{
    (void)state;
    char folder[] = "/tmp/adlro-scenario-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s.yaml", folder);
    char *text = read_whole(ADL_SOURCE_DIR "/scenarios/paper16.yaml");
    struct adl_scenario scenario;
    struct adl_error err = {{0}};
    write_whole(path, text);
    assert_int_equal(adl_scenario_load(path, &scenario, NULL, &err), 0);
    assert_string_equal(scenario.name, "paper16");
    adl_scenario_clear(&scenario);
    remove(path);
    remove(folder);
    free(text);
}

/* Whoever adds a file there finds out here whether it loads. */
static void load_all(bool with_measurements)
{
    DIR *folder = opendir(ADL_SOURCE_DIR "/scenarios");
    assert_non_null(folder);
    int loaded = 0;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".yaml") != 0 || strstr(entry->d_name, "catalogue.yaml"))
            continue;
        char path[1024];
        struct adl_scenario scenario;
        struct adl_error err = {{0}};
        snprintf(path, sizeof path, "%s/scenarios/%s", ADL_SOURCE_DIR, entry->d_name);
        const bool measured = adl_scenario_load(path, &scenario, NULL, &err) != 0;
        if (measured && !strstr(err.text, "--throughputs FILE"))
            fail_msg("%s", err.text);
        if (measured != with_measurements) {
            if (!measured)
                adl_scenario_clear(&scenario);
            continue;
        }
        if (measured && adl_scenario_load_measured(path, MEASUREMENTS, &scenario, NULL, &err))
            fail_msg("%s", err.text);
        assert_int_equal(strlen(scenario.name), (size_t)(end - entry->d_name));
        assert_memory_equal(scenario.name, entry->d_name, strlen(scenario.name));
        adl_scenario_clear(&scenario);
        loaded++;
    }
    closedir(folder);
    assert_true(loaded > 0);
}

static void every_scenario_of_the_project_loads(void **state)
{
    (void)state;
    load_all(false);
}

static void every_scenario_whose_speeds_were_measured_loads_with_the_measurements(void **state)
{
    (void)state;
    load_all(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_loaded_with_the_catalogue_beside_it_and_both_texts_are_kept),
        cmocka_unit_test(a_file_without_its_catalogue_beside_it_uses_the_shipped_one),
        cmocka_unit_test(every_scenario_of_the_project_loads),
    };
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(every_scenario_whose_speeds_were_measured_loads_with_the_measurements),
    };
    return RUN_PLAIN_OR_SHARED(argc, argv, tests, shared);
}
