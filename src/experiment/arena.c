#include "experiment/arena.h"

#include "base/hash.h"
#include "base/suggest.h"
#include "experiment/arena_cell.h"
#include "experiment/arena_summary.h"
#include "experiment/policy_choice.h"
#include "experiment/run.h"
#include "experiment/thread_pool.h"
#include "scenario/scenario.h"
#include "sim/world_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One workload with the policies as they run on it. */
struct prepared {
    struct adl_arena_setup setup;
    struct adl_policy_choices choices;
    struct adl_variant *variants;
    uint32_t variant_count;
};

/* Every cell that the folder lacks is one piece of the thread pool. */
struct arena_run {
    const struct adl_arena_request *request;
    struct adl_arena *arena;
    struct prepared *workloads; /* [workload] */
    uint32_t *pieces;           /* cells to run */
    uint32_t piece_count;
    int64_t start_ns;
    double work;          /* jobs of all pieces */
    pthread_mutex_t lock; /* guards what follows */
    double work_done;
    struct adl_arena_progress progress;
    int status; /* of the first cell that failed; cells after it do not run */
    struct adl_error error;
};

/* ---- the workloads ---- */

/* That every word of the list is a workload or a group. */
static int check_list(const char *list, const struct adl_arena_entry *entries, uint32_t count, struct adl_error *err)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char word[ADL_NAME_SIZE], quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
        struct adl_suggest suggest = {.word = word};
        bool known = false;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        for (uint32_t i = 0; i < count; i++) {
            known = known || strcmp(entries[i].name, word) == 0;
            adl_suggest_offer(&suggest, entries[i].name);
        }
        for (int g = 0; g < ADL_ARENA_GROUPS; g++) {
            known = known || strcmp(adl_arena_group_names[g], word) == 0;
            adl_suggest_offer(&suggest, adl_arena_group_names[g]);
        }
        if (!known)
            return adl_fail(err, ADL_EINVAL,
                            "there is no workload %s%s (docs/arena.md lists them; groups: frozen, shift, random, "
                            "trace)",
                            adl_quote(word, quoted), adl_suggest_phrase(&suggest, phrase));
    }
    return 0;
}

static int choose_entries(const struct adl_arena_request *request, struct adl_arena_entry *entries, uint32_t *ret_count,
                          struct adl_error *err)
{
    uint32_t count = adl_arena_suite(request->quick, entries), kept = 0;
    const int status = check_list(request->workloads, entries, count, err);
    for (uint32_t i = 0; i < count; i++)
        if (!request->workloads || adl_list_has(request->workloads, entries[i].name) ||
            adl_list_has(request->workloads, adl_arena_group_names[entries[i].group]))
            entries[kept++] = entries[i];
    *ret_count = kept;
    return status;
}

static int choose_policies(const struct adl_arena_request *request, struct prepared *one, struct adl_error *err)
{
    int status = 0;
    if (request->variants)
        status = adl_variants_load(request->variants, &one->setup.scenario, &one->variants, &one->variant_count, err);
    const struct adl_policy_request policies = {.option = "--policies",
                                                .list = request->policies,
                                                .most = ADL_POLICY_CHOICES_MAX,
                                                .scenario = &one->setup.scenario,
                                                .variants = one->variants,
                                                .variant_count = one->variant_count,
                                                .sets = request->sets,
                                                .set_count = request->set_count,
                                                .plugins = request->plugins,
                                                .plugin_count = request->plugin_count};
    if (status == 0)
        status = adl_policy_choices_make(&policies, &one->choices, err);
    one->setup.scenario.policy.model = request->model;
    one->setup.scenario.policy.model_size = request->model_size;
    return status;
}

static int set_up(struct arena_run *run, const struct adl_arena_entry *entries, struct adl_error *err)
{
    struct adl_arena *arena = run->arena;
    int status = 0;
    for (uint32_t w = 0; w < arena->workload_count && status == 0; w++) {
        struct prepared *one = &run->workloads[w];
        status = adl_arena_setup(run->request, &entries[w], &one->setup, &arena->workloads[w], err);
        if (status == 0 && !arena->workloads[w].skipped[0])
            status = choose_policies(run->request, one, err);
    }
    return status;
}

/* ---- the policies ---- */

static const struct prepared *first_prepared(const struct arena_run *run)
{
    for (uint32_t w = 0; w < run->arena->workload_count; w++)
        if (!run->arena->workloads[w].skipped[0])
            return &run->workloads[w];
    return NULL;
}

/* The policies are the same on every workload: those of the first that runs stand for all. */
static int name_policies(struct arena_run *run, struct adl_error *err)
{
    struct adl_arena *arena = run->arena;
    const char *ours = run->request->ours;
    const struct prepared *one = first_prepared(run);
    char quoted[ADL_QUOTE_SIZE];
    if (!one)
        return adl_fail(err, ADL_EINVAL, "no workload can run: the first, %s, %s", arena->workloads[0].name,
                        arena->workloads[0].skipped);
    const struct adl_policy_choices *choices = &one->choices;
    arena->policies = calloc(choices->count, sizeof *arena->policies);
    arena->cells = calloc((size_t)choices->count * arena->workload_count, sizeof *arena->cells);
    if (!arena->policies || !arena->cells)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u policies", choices->count);
    arena->policy_count = choices->count;
    arena->ours = ADL_NONE;
    for (uint32_t p = 0; p < choices->count; p++) {
        const struct adl_policy_ops *ops = choices->policies[p];
        snprintf(arena->policies[p].name, sizeof arena->policies[p].name, "%s", ops->name);
        arena->policies[p].ours =
            strcmp(ops->name, ours) == 0 || (ops->variant_of && strcmp(ops->variant_of, ours) == 0);
        if (strcmp(ops->name, ours) == 0)
            arena->ours = p;
    }
    return arena->ours != ADL_NONE
               ? 0
               : adl_fail(err, ADL_EINVAL, "--ours %s is not among the policies that run: add it to --policies",
                          adl_quote(ours, quoted));
}

/* ---- the cells ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return adl_hash_bytes(hash, text ? text : "", text ? strlen(text) : 0);
}

static struct adl_arena_cell_key key_of(const struct arena_run *run, uint32_t cell)
{
    const struct adl_arena_request *request = run->request;
    const uint32_t workload = cell / run->arena->policy_count, policy = cell % run->arena->policy_count;
    const struct prepared *one = &run->workloads[workload];
    const struct adl_policy_ops *ops = one->choices.policies[policy];
    uint64_t inputs = hash_text(one->setup.hash, ops->variant_of);
    inputs = hash_text(inputs, ops->settings);
    if (request->model)
        inputs = adl_hash_bytes(inputs, request->model, request->model_size);
    return (struct adl_arena_cell_key){.workload = &run->arena->workloads[workload],
                                       .policy = run->arena->policies[policy].name,
                                       .inputs = inputs,
                                       .build = request->build,
                                       .any_build = request->other_builds && !run->arena->policies[policy].ours,
                                       .budget_s = request->budget_s};
}

static double work_of(const struct arena_run *run, uint32_t cell)
{
    const struct adl_arena_workload *workload = &run->arena->workloads[cell / run->arena->policy_count];
    return (double)workload->jobs * workload->seed_count;
}

/* Takes what the folder has, and lists the rest. */
static void list_pieces(struct arena_run *run)
{
    const uint32_t policies = run->arena->policy_count, cells = run->arena->workload_count * policies;
    for (uint32_t c = 0; c < cells; c++) {
        if (run->arena->workloads[c / policies].skipped[0])
            continue;
        const struct adl_arena_cell_key key = key_of(run, c);
        run->progress.total++;
        if (adl_arena_cell_load(&key, run->request->folder, &run->arena->cells[c])) {
            run->progress.reused++;
            run->progress.done++;
        } else {
            run->pieces[run->piece_count++] = c;
            run->work += work_of(run, c);
        }
    }
}

/* With the lock held. */
static void report(struct arena_run *run, uint32_t cell)
{
    const double spent_s = (double)(adl_clock_ns() - run->start_ns) * 1e-9;
    run->progress.done++;
    run->work_done += work_of(run, cell);
    run->progress.left_s = spent_s * (run->work - run->work_done) / run->work_done;
    run->progress.workload = run->arena->workloads[cell / run->arena->policy_count].name;
    run->progress.policy = run->arena->policies[cell % run->arena->policy_count].name;
    if (run->request->progress)
        run->request->progress(run->request->progress_self, &run->progress);
}

static bool may_start(struct arena_run *run)
{
    pthread_mutex_lock(&run->lock);
    const bool ok = run->status == 0;
    pthread_mutex_unlock(&run->lock);
    return ok;
}

static void run_piece(void *self, uint32_t piece)
{
    struct arena_run *run = self;
    const uint32_t cell = run->pieces[piece];
    const struct prepared *one = &run->workloads[cell / run->arena->policy_count];
    const struct adl_arena_cell_key key = key_of(run, cell);
    struct adl_error error = {{0}};
    if (!may_start(run))
        return;
    int status = adl_arena_cell_run(&key, &one->setup, one->choices.policies[cell % run->arena->policy_count],
                                    &run->arena->cells[cell], &error);
    if (status == 0)
        status = adl_arena_cell_save(&key, run->request->folder, &run->arena->cells[cell], &error);
    pthread_mutex_lock(&run->lock);
    if (status && run->status == 0) {
        run->status = status;
        run->error = error;
    }
    report(run, cell);
    pthread_mutex_unlock(&run->lock);
}

static int run_cells(struct arena_run *run, struct adl_error *err)
{
    struct adl_thread_pool *pool;
    run->pieces = calloc((size_t)run->arena->workload_count * run->arena->policy_count, sizeof *run->pieces);
    if (!run->pieces)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the cells");
    list_pieces(run);
    run->start_ns = adl_clock_ns();
    if (run->piece_count == 0)
        return 0;
    const uint32_t threads = run->request->threads;
    const int status = adl_thread_pool_create(threads < run->piece_count ? threads : run->piece_count, &pool, err);
    if (status)
        return status;
    adl_thread_pool_run(pool, run->piece_count, run_piece, run);
    adl_thread_pool_destroy(pool);
    return run->status ? adl_fail(err, run->status, "%s", run->error.text) : 0;
}

/* ---- all of it ---- */

static void clear_run(struct arena_run *run, uint32_t workloads)
{
    for (uint32_t w = 0; w < workloads && run->workloads; w++) {
        adl_policy_choices_clear(&run->workloads[w].choices);
        adl_variants_clear(run->workloads[w].variants, run->workloads[w].variant_count);
        adl_arena_setup_clear(&run->workloads[w].setup);
    }
    free(run->workloads);
    free(run->pieces);
    pthread_mutex_destroy(&run->lock);
}

static int run_arena(struct arena_run *run, const struct adl_arena_entry *entries, struct adl_error *err)
{
    struct adl_arena *arena = run->arena;
    run->workloads = calloc(arena->workload_count, sizeof *run->workloads);
    arena->workloads = calloc(arena->workload_count, sizeof *arena->workloads);
    if (!run->workloads || !arena->workloads)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %u workloads", arena->workload_count);
    int status = set_up(run, entries, err);
    if (status == 0)
        status = name_policies(run, err);
    if (status == 0)
        status = run_cells(run, err);
    if (status == 0 && adl_arena_summarize(arena))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for statistics");
    return status;
}

int adl_arena_run(const struct adl_arena_request *request, struct adl_arena *ret, struct adl_error *err)
{
    struct adl_arena_entry entries[ADL_ARENA_ENTRIES_MAX];
    struct adl_arena arena = {
        .regime = adl_regime_name(request->regime), .seeds = request->seeds_name, .budget_s = request->budget_s};
    struct arena_run run = {.request = request, .arena = &arena};
    int status = choose_entries(request, entries, &arena.workload_count, err);
    if (status)
        return status;
    snprintf(arena.version, sizeof arena.version, "%s", request->version);
    pthread_mutex_init(&run.lock, NULL);
    status = run_arena(&run, entries, err);
    clear_run(&run, arena.workload_count);
    if (status)
        adl_arena_clear(&arena);
    else
        *ret = arena;
    return status;
}

void adl_arena_clear(struct adl_arena *arena)
{
    const size_t cells = arena->cells ? (size_t)arena->workload_count * arena->policy_count : 0;
    for (size_t c = 0; c < cells; c++)
        free(arena->cells[c].runs);
    free(arena->cells);
    free(arena->policies);
    free(arena->workloads);
    *arena = (struct adl_arena){0};
}
