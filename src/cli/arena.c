/* arena: every policy on a suite of workloads, and how one of them compares with the best of the others. */
#include "base/hash.h"
#include "base/suggest.h"
#include "cli/choices.h"
#include "cli/cli.h"
#include "experiment/arena_setup.h"
#include "experiment/run.h"
#include "report/arena/arena_json.h"
#include "report/arena/arena_page.h"
#include "report/arena/arena_table.h"
#include "report/figure.h"
#include "rl/model_store.h"
#include "scenario/generator.h"
#include "sim/world_sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
    bool quick;
    const char *out;
    const char *policies, *ours, *entry, *workloads;
    struct adl_choice_options choice;
    int range;
    int64_t seeds;
    int64_t threads;
    int regime;
    double budget_s;
    struct adl_option_list data;
    const char *throughputs;
    const char *model;
    bool other_builds;
    const char *json, *html;
};

#define AT(field) offsetof(struct options, field)

enum range { RANGE_AUTO, RANGE_TRAINING, RANGE_VALIDATION, RANGE_TEST };
static const char *const range_names[] = {"auto", "training", "validation", "test", NULL};
static const uint64_t range_first[] = {0, 500000, ADL_GENERATOR_VALIDATION_SEED, ADL_GENERATOR_TEST_SEED};

#define QUICK_POLICIES "fcfs,easy,sjf,srtf,gittins,wfp3,las,allox"

static const struct adl_option table[] = {
    {"quick", 'q', ADL_OPTION_FLAG, AT(quick), 0, 0, NULL, NULL,
     "few small workloads, few seeds of the validation range, the strongest peers: half a minute"},
    {"out", 'o', ADL_OPTION_TEXT, AT(out), 0, 0, NULL, "DIR",
     "folder for finished cells; a run that was stopped continues there"},
    {"policies", 'p', ADL_OPTION_TEXT, AT(policies), 0, 0, NULL, "P[,P...]", "policies instead of all"},
    {"ours", 0, ADL_OPTION_TEXT, AT(ours), 0, 0, NULL, "P",
     "the policy that is compared with the best of the others (default adlro)"},
    {"entry", 'e', ADL_OPTION_TEXT, AT(entry), 0, 0, NULL, "FILE",
     "ours is what this file has: a plugin (.so), a program (.py), or a network from `adlro train`"},
    ADL_CHOICE_ROWS(struct options, choice, ADL_SET_HELP, ADL_VARIANTS_HELP),
    {"workloads", 'w', ADL_OPTION_TEXT, AT(workloads), 0, 0, NULL, "W[,W...]",
     "only these workloads or groups (frozen, shift, random, trace)"},
    {"range", 0, ADL_OPTION_NAME, AT(range), 0, 0, range_names, "NAME",
     "seeds of runs and random scenarios; auto: test, or validation with --quick"},
    {"seeds", 'n', ADL_OPTION_INT, AT(seeds), 0, 10000, NULL, "N", "runs on each workload; 0 = as the suite says"},
    {"regime", 0, ADL_OPTION_NAME, AT(regime), 0, 0, adl_regime_names, "NAME",
     "what policies know of run times: declared (users' limits), learned (similar jobs) or oracle (truth)"},
    {"budget", 0, ADL_OPTION_REAL, AT(budget_s), 0, 1e9, NULL, "S",
     "seconds of processor time that a policy may take on a workload, all seeds together; 0 = no limit"},
    {"data", 0, ADL_OPTION_LIST, AT(data), 0, 0, NULL, "DIR",
     "folder with traces and measurements of others; may be repeated"},
    {"throughputs", 0, ADL_OPTION_TEXT, AT(throughputs), 0, 0, NULL, "FILE",
     "JSON with measured steps/s by GPU type and job, if not in a folder of --data"},
    {"model", 'm', ADL_OPTION_TEXT, AT(model), 0, 0, NULL, "FILE",
     "network from `adlro train` that its policy (dqn, market or adlro) uses instead of the shipped one"},
    {"other-builds", 0, ADL_OPTION_FLAG, AT(other_builds), 0, 0, NULL, NULL,
     "use cells of peers that another build of the program ran; cells of ours are run again"},
    {"threads", 0, ADL_OPTION_INT, AT(threads), 0, 64, NULL, "N", "0 = all cores"},
    {"json", 0, ADL_OPTION_TEXT, AT(json), 0, 0, NULL, "FILE",
     "write all figures as JSON (- is standard output, instead of the table)"},
    {"html", 0, ADL_OPTION_TEXT, AT(html), 0, 0, NULL, "FILE",
     "write one page: heat map, Pareto plots and table (- is standard output, instead of the table)"},
};

static const struct adl_verb verb = {
    .name = "arena",
    .summary =
        "Runs every policy on a suite of workloads and compares one of them with the best of the others on each.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro arena --quick --entry ./mine.so",
};

/* ---- progress ---- */

struct display {
    bool terminal;
    int64_t shown_ns;
};

/* A line that is redrawn on a terminal; elsewhere a line at most every ten seconds. */
static void show(void *self, const struct adl_arena_progress *progress)
{
    struct display *display = self;
    const int64_t now_ns = adl_clock_ns();
    char left[ADL_FIGURE_SIZE];
    if (now_ns - display->shown_ns < (display->terminal ? 200000000 : 10000000000))
        return;
    fprintf(stderr, "%s%" PRIu32 " of %" PRIu32 " cells, %s left; last %s on %s%s", display->terminal ? "\r" : "",
            progress->done, progress->total, adl_figure_print_duration(left, progress->left_s), progress->policy,
            progress->workload, display->terminal ? "\033[K" : "\n");
    fflush(stderr);
    display->shown_ns = now_ns;
}

static void show_end(const struct display *display)
{
    if (display->terminal)
        fputs("\r\033[K", stderr);
}

/* ---- the request ---- */

/* The version does not change with each build, so the program's own bytes tell builds apart. */
static int hash_build(const struct adl_option_list *plugins, uint64_t *ret, struct adl_error *err)
{
    *ret = adl_hash_start();
    int status = adl_arena_hash_file("/proc/self/exe", ret, err);
    for (uint32_t i = 0; i < plugins->count && status == 0; i++)
        status = adl_arena_hash_file(plugins->items[i], ret, err);
    return status;
}

static int make_folder(const char *path, struct adl_error *err)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return 0;
    return adl_fail(err, ADL_EINVAL, "--out %.200s: cannot make the folder: %s", path, strerror(errno));
}

static void add_policy(struct adl_text *list, const char *name)
{
    if (!adl_list_has(list->data, name))
        adl_text_printf(list, "%s%s", list->size > 0 ? "," : "", name);
}

/* Those that were asked for, or all, plugins too; and ours. */
static void list_policies(const struct options *o, const struct adl_cli_plugins *plugins, struct adl_text *ret)
{
    if (o->policies || o->quick)
        adl_text_put(ret, o->policies ? o->policies : QUICK_POLICIES);
    for (uint32_t i = 0; i < adl_policy_count() && !o->policies && !o->quick; i++)
        add_policy(ret, adl_policy_at(i)->name);
    for (uint32_t i = 0; i < plugins->count && !o->policies; i++)
        add_policy(ret, plugins->policies[i]->name);
    add_policy(ret, o->ours);
}

static int run_arena(const struct options *o, const struct adl_cli_plugins *plugins, const struct adl_scenario *model,
                     struct adl_arena *ret, struct adl_error *err)
{
    const int range = o->range != RANGE_AUTO ? o->range : o->quick ? RANGE_VALIDATION : RANGE_TEST;
    struct display display = {.terminal = isatty(STDERR_FILENO), .shown_ns = adl_clock_ns()};
    struct adl_text list = {0};
    char version[64];
    uint64_t build = 0;
    int status = hash_build(&o->choice.plugins, &build, err);
    list_policies(o, plugins, &list);
    if (status == 0 && adl_text_status(&list))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the names of policies");
    snprintf(version, sizeof version, "adlro " ADL_VERSION ", build %08" PRIx32, (uint32_t)build);
    const struct adl_arena_request request = {
        .quick = o->quick,
        .first_seed = range_first[range],
        .seeds = (uint32_t)o->seeds,
        .seeds_name = range_names[range],
        .regime = o->regime,
        .workloads = o->workloads,
        .policies = list.data,
        .ours = o->ours,
        .budget_s = o->budget_s,
        .threads = o->threads ? (uint32_t)o->threads : adl_cli_cores(),
        .data = o->data.items,
        .data_count = o->data.count,
        .throughputs = o->throughputs,
        .sets = o->choice.sets.items,
        .set_count = o->choice.sets.count,
        .variants = o->choice.variants,
        .plugins = plugins->policies,
        .plugin_count = plugins->count,
        .model = model->policy.model,
        .model_size = model->policy.model_size,
        .folder = o->out,
        .version = version,
        .build = build,
        .other_builds = o->other_builds,
        .progress = show,
        .progress_self = &display,
    };
    if (status == 0)
        status = make_folder(o->out, err);
    if (status == 0)
        status = adl_arena_run(&request, ret, err);
    show_end(&display);
    adl_text_clear(&list);
    return status;
}

/* ---- the reports ---- */

typedef void compose_function(struct adl_text *text, const struct adl_arena *arena);

static int write_report(const char *path, compose_function *compose, const struct adl_arena *arena,
                        struct adl_error *err)
{
    struct adl_text text = {0};
    if (!path)
        return 0;
    compose(&text, arena);
    const int status = adl_output_write(path, &text, err);
    adl_text_clear(&text);
    return status;
}

static int write_reports(const struct options *o, const struct adl_arena *arena, struct adl_error *err)
{
    const bool taken = adl_output_is_stdout(o->json) || adl_output_is_stdout(o->html);
    int status = write_report(o->json, adl_arena_json, arena, err);
    if (status == 0)
        status = write_report(o->html, adl_arena_page, arena, err);
    if (status == 0 && !taken)
        status = write_report("-", adl_arena_table, arena, err);
    return status;
}

/* ---- the entry ---- */

static int refuse_entry(const struct options *o, const char *other, struct adl_error *err)
{
    return adl_fail(err, ADL_EINVAL, "--entry %.200s says what ours is: leave %s out", o->entry, other);
}

/* The file of --entry becomes one of --model or --policy-plugin; which it is, its first bytes say. */
static int take_entry(struct options *o, const char **ret_network_of, struct adl_error *err)
{
    char head[8] = "";
    FILE *file = o->entry ? fopen(o->entry, "rb") : NULL;
    if (!o->entry)
        return 0;
    if (!file)
        return adl_fail(err, ADL_EINVAL, "--entry %.200s: %s", o->entry, strerror(errno));
    const char *network_of = adl_model_store_policy(head, fread(head, 1, sizeof head, file));
    fclose(file);
    if (!network_of && memcmp(head, "ADLRO", 5) == 0)
        return adl_fail(
            err, ADL_EINVAL,
            "--entry %.200s: no policy has such a network; `adlro train` writes those of dqn, market and adlro",
            o->entry);
    if (o->ours)
        return refuse_entry(o, "--ours", err);
    if (network_of && o->model)
        return refuse_entry(o, "--model", err);
    if (!network_of && o->choice.plugins.count == ADL_OPTION_LIST_MAX)
        return adl_fail(err, ADL_EINVAL, "--entry %.200s: there are too many plugins already", o->entry);
    if (network_of)
        o->model = o->entry;
    else
        o->choice.plugins.items[o->choice.plugins.count++] = o->entry;
    *ret_network_of = network_of;
    return 0;
}

/* The plugin of the entry is the last one. */
static const char *find_ours(const struct options *o, const char *network_of, const struct adl_cli_plugins *plugins)
{
    if (o->ours)
        return o->ours;
    if (o->entry)
        return network_of ? network_of : plugins->policies[plugins->count - 1]->name;
    return adl_policy_find("adlro") ? "adlro" : "dqn";
}

static int run(int argc, char **argv)
{
    struct options o = {.out = "arena-cells", .budget_s = 1200};
    struct adl_operands operands;
    struct adl_error err;
    struct adl_cli_plugins plugins = {0};
    struct adl_scenario scenario = {0}; /* carries the network */
    struct adl_arena arena = {0};
    char *model = NULL;
    const char *network_of = NULL; /* the policy, if the entry is a network */
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const char *outputs[] = {o.json, o.html};
    int status = adl_outputs_check(outputs, 2, "", &err);
    if (status == 0)
        status = take_entry(&o, &network_of, &err);
    if (status == 0)
        status = adl_cli_plugins_load(&o.choice.plugins, &plugins, &err);
    if (status == 0)
        status = adl_cli_model(o.model, &scenario, &model, &err);
    if (status == ADL_EIO)
        status = ADL_EINVAL; /* a wrong file name */
    if (status == 0) {
        o.ours = find_ours(&o, network_of, &plugins);
        status = run_arena(&o, &plugins, &scenario, &arena, &err);
    }
    if (status == 0)
        status = write_reports(&o, &arena, &err);
    adl_arena_clear(&arena);
    adl_cli_plugins_unload(&plugins);
    free(model);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_arena = {&verb, run};
