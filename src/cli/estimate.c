/* estimate: the predicted speed of a class of jobs on each type of GPU, alone and co-located with another. */
#include "base/json.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/recorded_speeds.h"
#include "predict/estimate_table.h"
#include "predict/estimates.h"
#include "rl/model_store.h"
#include "scenario/scenario.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *scenario;
    const char *beside;
    const char *measured;
    const char *recording;
    const char *model;
    int64_t gpus;
    bool json;
};

#define GANG_PROFILES 200 /* profiles of classes with other numbers of GPUs, on one node and on several */

#define AT(field) offsetof(struct options, field)

static const struct adl_option table[] = {
    {"scenario", 's', ADL_OPTION_TEXT, AT(scenario), 0, 0, NULL, "FILE", "where the classes and GPU types come from"},
    {"beside", 'b', ADL_OPTION_TEXT, AT(beside), 0, 0, NULL, "CLASS", "also beside a job of this class on one GPU"},
    {"gpus", 'g', ADL_OPTION_INT, AT(gpus), 1, ADL_JOB_GPUS_MAX, NULL, "N", "GPUs of the job"},
    {"measured", 0, ADL_OPTION_TEXT, AT(measured), 0, 0, NULL, "FILE",
     "measurements: lines of type,class,neighbour or nothing,steps/s; those of JOB are for --gpus GPUs, "
     "others for one"},
    {"recording", 'r', ADL_OPTION_TEXT, AT(recording), 0, 0, NULL, "FILE",
     "a run recorded by `adlro simulate --log`: the speeds that its jobs reported count as measurements"},
    {"model", 'm', ADL_OPTION_TEXT, AT(model), 0, 0, NULL, "FILE",
     "networks from `adlro train estimator` to use instead of the shipped ones"},
    {"json", 0, ADL_OPTION_FLAG, AT(json), 0, 0, NULL, NULL, "as JSON"},
};

static const struct adl_verb verb = {
    .name = "estimate",
    .summary = "Prints the predicted speed of a class of jobs on each GPU type, its uncertainty, and where it "
               "comes from.",
    .operands = "JOB",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro estimate resnet50-b64 --scenario mixed64 --beside lm-b80",
};

struct shared {
    const struct adl_scenario *scenario;
    const struct options *options;
    struct adl_estimates *estimates;
    uint32_t job; /* class */
};

static int find_class(const struct adl_scenario *scenario, const char *name, uint32_t *ret, struct adl_error *err)
{
    struct adl_suggest suggest = {.word = name};
    char phrase[ADL_PHRASE_SIZE], quoted[ADL_QUOTE_SIZE], list[160] = "";
    for (uint32_t i = 0; i < scenario->class_count; i++) {
        if (strcmp(scenario->classes[i].name, name) == 0) {
            *ret = i;
            return 0;
        }
        adl_suggest_offer(&suggest, scenario->classes[i].name);
        adl_list_append(list, sizeof list, scenario->classes[i].name);
    }
    return adl_fail(err, ADL_EINVAL, "there is no class %s in %.60s%s (it has %s)", adl_quote(name, quoted),
                    scenario->name, adl_suggest_phrase(&suggest, phrase), list);
}

/* A job of the class as the scenario's mix would submit it. */
static uint32_t gang_profile(struct shared *shared, uint32_t class_index, uint16_t gpus, bool spans)
{
    const struct adl_job_class *class = &shared->scenario->classes[class_index];
    struct adl_job_spec spec = {.class_index = (uint16_t)class_index,
                                .name_id = adl_job_name_id(class->name),
                                .gpus = gpus,
                                .kind = class->kind,
                                .gpu_memory_mib = class->gpu_memory_mib,
                                .step_gflop = (float)class->step_gflop,
                                .step_gb = (float)class->step_gb};
    for (uint32_t i = 0; i < shared->scenario->workload.mix_count; i++) {
        const struct adl_mix *mix = &shared->scenario->workload.mix[i];
        if (mix->class_index != class_index)
            continue;
        spec.cpu_cores = mix->cpu_cores;
        spec.memory_mib = mix->memory_mib;
        spec.gpu_memory_mib = mix->gpu_memory_mib;
        break;
    }
    return adl_estimates_profile(shared->estimates, &spec, spans);
}

static uint32_t profile_of(struct shared *shared, uint32_t class_index)
{
    return gang_profile(shared, class_index, (uint16_t)(class_index == shared->job ? shared->options->gpus : 1), false);
}

/* ---- measurements ---- */

/* Splits a line into cells in place; returns how many. */
static int cut(char *line, char *ret[5])
{
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at && count < 5; count++) {
        ret[count] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return count;
}

static int read_line(struct shared *shared, char *line, struct adl_error *err)
{
    char *cells[5], *end = NULL, quoted[ADL_QUOTE_SIZE];
    uint32_t job = 0, neighbour = ADL_NONE;
    if (cut(line, cells) != 4)
        return adl_fail(err, ADL_EINVAL, "must be type,class,neighbour,steps_per_s, the neighbour empty if alone");
    const uint32_t type = adl_cluster_find_type(&shared->scenario->cluster, cells[0]);
    if (type == ADL_NONE)
        return adl_fail(err, ADL_EINVAL, "there is no GPU type %s in %.60s", adl_quote(cells[0], quoted),
                        shared->scenario->name);
    int status = find_class(shared->scenario, cells[1], &job, err);
    if (status == 0 && *cells[2])
        status = find_class(shared->scenario, cells[2], &neighbour, err);
    if (status)
        return status;
    const double rate = strtod(cells[3], &end);
    if (end == cells[3] || *end || !(rate > 0) || !isfinite(rate))
        return adl_fail(err, ADL_EINVAL, "steps_per_s must be a number above 0, got %s", adl_quote(cells[3], quoted));
    const uint32_t profile = profile_of(shared, job),
                   beside = neighbour == ADL_NONE ? ADL_NONE : profile_of(shared, neighbour);
    adl_estimates_measure(shared->estimates, profile, type, beside, rate);
    return 0;
}

static int read_measured(struct shared *shared, const char *path, struct adl_error *err)
{
    char line[1024];
    unsigned number = 0;
    int status = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return adl_fail(err, ADL_EINVAL, "%.200s: %s", path, strerror(errno));
    while (status == 0 && fgets(line, sizeof line, file)) {
        struct adl_error inner = {{0}};
        number++;
        if (*line == '#' || *line == '\n' || (number == 1 && strncmp(line, "type,", 5) == 0))
            continue;
        status = strlen(line) + 1 == sizeof line ? adl_fail(&inner, ADL_EINVAL, "the line is too long")
                                                 : read_line(shared, line, &inner);
        if (status)
            adl_fail(err, status, "%.100s:%u: %.280s", path, number, inner.text);
    }
    if (status == 0 && ferror(file))
        status = adl_fail(err, ADL_EIO, "cannot read %.200s", path);
    fclose(file);
    return status;
}

/* Ignores jobs of a recorded run whose type or class the scenario does not have. */
static void take_reported(void *self, const struct adl_recorded_speed *reported)
{
    struct shared *shared = self;
    struct adl_error none;
    uint32_t job = 0, neighbour = 0;
    const uint32_t type = adl_cluster_find_type(&shared->scenario->cluster, reported->type);
    if (type == ADL_NONE || find_class(shared->scenario, reported->class, &job, &none) ||
        (reported->beside && find_class(shared->scenario, reported->beside, &neighbour, &none)))
        return;
    const uint32_t profile = gang_profile(shared, job, reported->gpus, reported->spans);
    adl_estimates_measure(shared->estimates, profile, type,
                          reported->beside ? gang_profile(shared, neighbour, 1, false) : ADL_NONE,
                          reported->steps_per_s);
}

/* ---- output ---- */

static const char *source_name(const struct adl_estimate *found)
{
    static const char *const names[] = {"initial", "refined", "measured"};
    return found->steps_per_s > 0 ? names[found->source] : "does not fit";
}

static void put_cell(struct adl_text *text, const char *type, const char *beside, const struct adl_estimate *found)
{
    char numbers[3][ADL_NUMBER_SIZE] = {"-", "-", "-"};
    const double values[3] = {found->steps_per_s, found->low, found->high};
    for (int i = 0; i < 3 && found->steps_per_s > 0; i++)
        adl_number_print(numbers[i], 'g', 4, values[i]);
    adl_text_printf(text, "%-14s %-20s %10s %10s %10s  %s", type, beside, numbers[0], numbers[1], numbers[2],
                    source_name(found));
    if (found->measurements > 0)
        adl_text_printf(text, " %u x", found->measurements);
    adl_text_char(text, '\n');
}

static void put_json_cell(struct adl_json *json, const char *type, const char *beside, const struct adl_estimate *found)
{
    adl_json_flat(json);
    adl_json_object(json);
    adl_json_put_string(json, "type", type);
    adl_json_put_string(json, "beside", beside);
    adl_json_put_real(json, "steps_per_s", found->steps_per_s);
    adl_json_put_real(json, "low", found->low);
    adl_json_put_real(json, "high", found->high);
    adl_json_put_uint(json, "measurements", found->measurements);
    adl_json_put_string(json, "source", source_name(found));
    adl_json_end(json);
}

static void show(struct shared *shared, uint32_t profile, uint32_t beside, const char *name, struct adl_text *text)
{
    const struct options *o = shared->options;
    const struct adl_cluster *cluster = &shared->scenario->cluster;
    struct adl_json json = adl_json_start(text, true);
    if (o->json) {
        adl_json_object(&json);
        adl_json_put_string(&json, "job", name);
        adl_json_put_int(&json, "gpus", o->gpus);
        adl_json_put_string(&json, "scenario", shared->scenario->name);
        adl_json_key(&json, "estimates");
        adl_json_array(&json);
    } else {
        adl_text_printf(text, "%s on %lld GPU%s, steps/s of the whole job, in %s\n\n", name, (long long)o->gpus,
                        o->gpus == 1 ? "" : "s", shared->scenario->name);
        adl_text_printf(text, "%-14s %-20s %10s %10s %10s  %s\n", "type", "beside", "estimate", "90 % low", "high",
                        "from");
    }
    for (int pass = 0; pass < (o->beside ? 2 : 1); pass++)
        for (uint32_t t = 0; t < cluster->type_count; t++) {
            struct adl_estimate found;
            adl_estimates_find(shared->estimates, profile, t, pass ? beside : ADL_NONE, &found);
            if (o->json)
                put_json_cell(&json, cluster->types[t].name, pass ? o->beside : NULL, &found);
            else
                put_cell(text, cluster->types[t].name, pass ? o->beside : "-", &found);
        }
    if (o->json) {
        adl_json_end(&json);
        adl_json_end(&json);
        adl_text_char(text, '\n');
    }
}

static int estimate(struct shared *shared, const char *name, struct adl_error *err)
{
    struct adl_text text = {0};
    uint32_t neighbour = 0, beside = ADL_NONE;
    int status = find_class(shared->scenario, name, &shared->job, err);
    if (status == 0 && shared->options->beside)
        status = find_class(shared->scenario, shared->options->beside, &neighbour, err);
    if (status == 0 && shared->options->measured)
        status = read_measured(shared, shared->options->measured, err);
    if (status == 0 && shared->options->recording)
        status = adl_recorded_speeds_read(shared->options->recording, take_reported, shared, err);
    if (status)
        return status;
    const uint32_t profile = profile_of(shared, shared->job);
    if (shared->options->beside)
        beside = profile_of(shared, neighbour);
    show(shared, profile, beside, name, &text);
    status = adl_output_write("-", &text, err);
    adl_text_clear(&text);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.scenario = "mixed64", .gpus = 1};
    struct adl_operands operands;
    struct adl_error err, inner = {{0}};
    struct adl_scenario scenario = {0};
    char *model = NULL;
    size_t size = 0;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    struct shared shared = {.scenario = &scenario, .options = &o};
    int status = adl_scenario_load(o.scenario, &scenario, NULL, &err);
    if (status == 0 && o.model)
        status = adl_model_store_read_bytes(o.model, &model, &size, &err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    if (status == 0) {
        const uint32_t wanted = scenario.class_count + (o.recording ? GANG_PROFILES : 1);
        const uint32_t profiles = wanted < ADL_PROFILES_MAX ? wanted : ADL_PROFILES_MAX;
        status = adl_estimates_create(&scenario.cluster, profiles, model, size, &shared.estimates, &inner);
        if (status)
            adl_fail(&err, status, "%.100s: %.280s", o.model ? o.model : "the shipped networks", inner.text);
    }
    if (status == 0)
        status = estimate(&shared, operands.items[0], &err);
    adl_estimates_destroy(shared.estimates);
    adl_scenario_clear(&scenario);
    free(model);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_estimate = {&verb, run};
