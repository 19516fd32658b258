/* score: HyperScore of figures on the command line. */
#include "base/json.h"
#include "cli/cli.h"
#include "metrics/hyperscore.h"

#include <stddef.h>

struct options {
    struct adl_score_terms terms;
    double v; /* negative = from the terms */
    bool json;
};

#define TERM(name, help)                                                                                               \
    {                                                                                                                  \
#name, 0, ADL_OPTION_REAL, offsetof(struct options, terms.name), 0, 1e6, NULL, "X", help                       \
    }

static const struct adl_option table[] = {
    TERM(jct, "reference / mean JCT"),
    TERM(p99, "reference / p99 JCT"),
    TERM(throughput, "throughput / reference"),
    TERM(energy, "reference / energy"),
    TERM(slowdown, "reference / slowdown"),
    TERM(sla, "SLA attainment / reference"),
    {"value", 'V', ADL_OPTION_REAL, offsetof(struct options, v), -1, 1e6, NULL, "V",
     "use this V; negative = compute it from the terms"},
    {"json", 0, ADL_OPTION_FLAG, offsetof(struct options, json), 0, 0, NULL, NULL, "as JSON"},
};

static const struct adl_verb verb = {
    .name = "score",
    .summary = "Computes HyperScore = 100 [1 + sigma(5 ln V - ln 2)^2.1]; V is the weighted geometric mean of the "
               "terms given.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro score --jct 1.5 --p99 0.66 --throughput 0.96 --energy 0.99 --slowdown 2.2",
};

static int run(int argc, char **argv)
{
    struct options o = {.v = -1};
    struct adl_operands operands;
    struct adl_text text = {0};
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const double v = o.v < 0 ? adl_score_v(&o.terms) : o.v;
    const double score = adl_hyperscore(v);
    if (o.json) {
        struct adl_json json = adl_json_start(&text, false);
        adl_json_object(&json);
        adl_json_put_real(&json, "v", v);
        adl_json_put_real(&json, "hyperscore", score);
        adl_json_end(&json);
    } else {
        adl_text_put(&text, "HyperScore ");
        adl_text_fixed(&text, score, 2);
        adl_text_put(&text, "  (V = ");
        adl_text_fixed(&text, v, 4);
        adl_text_put(&text, ")");
    }
    adl_text_char(&text, '\n');
    const int status = adl_output_write("-", &text, &err);
    adl_text_clear(&text);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_score = {&verb, run};
