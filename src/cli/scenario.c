/* scenario: writes a random scenario as YAML. */
#include "cli/cli.h"
#include "scenario/generator.h"

#include <string.h>

struct options {
    int64_t seed;
    int size;
    bool wear;
    const char *out;
};

static const struct adl_option table[] = {
    {"seed", 's', ADL_OPTION_INT, offsetof(struct options, seed), 0, 9e15, NULL, "N",
     "equal seeds give equal scenarios; below 700000 for training, from there for validation, from 800000 for tests"},
    {"size", 0, ADL_OPTION_NAME, offsetof(struct options, size), 0, 0, adl_generator_size_names, "SIZE",
     "8 to 64, 64 to 512 or 512 to 2048 GPUs; any: the seed chooses"},
    ADL_ROW_FLAG(struct options, wear, "wear", 0, "with GPUs that wear and throttle, updates, and telemetry"),
    ADL_ROW_TEXT(struct options, out, "out", 'o', "FILE", "write it there instead of to standard output"),
};

static const struct adl_verb verb = {
    .name = "scenario",
    .summary =
        "Writes a random scenario: cluster, jobs, limits, load, faults. The same seed gives the same file, and every "
        "file is valid.",
    .operands = "random",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro scenario random --seed 7 --size small --out random.yaml\nadlro compare random.yaml",
};

static int run(int argc, char **argv)
{
    struct options o = {.seed = 1, .size = ADL_GENERATOR_ANY, .out = "-"};
    struct adl_operands operands;
    struct adl_text text = {0};
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = 0;
    if (strcmp(operands.items[0], "random") != 0)
        status = adl_fail(&err, ADL_EINVAL, "there is no '%.40s'; the one thing it does is `adlro scenario random`",
                          operands.items[0]);
    if (status == 0)
        status = adl_scenario_generate((uint64_t)o.seed, o.size, o.wear, &text, &err);
    if (status == 0)
        status = adl_output_write(o.out, &text, &err);
    adl_text_clear(&text);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_scenario = {&verb, run};
