/* The page of an arena that is made up here. With ADL_REPORT_DIR set, the pages are left in that folder to be looked
 * at. */
#include "base/rng.h"
#include "page_check.h"
#include "report/arena/arena_page.h"
#include "report/figure.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POLICIES  13
#define WORKLOADS 26

static const char *const policy_names[POLICIES] = {"fcfs", "easy", "sjf",   "srtf",    "wfp3", "unicep", "allox",
                                                   "las",  "qssf", "gavel", "gittins", "gogh", "dqn"};
/* Mean JCT, p99 and energy of each policy relative to the best, about. */
static const double strength[POLICIES][3] = {
    {4.2, 1.5, 1.12},  {1.55, 1.02, 1.03}, {1.08, 1.60, 1.02}, {1.05, 1.55, 1.06}, {1.02, 1.45, 1.01},
    {1.07, 1.5, 1.02}, {1.04, 1.40, 1.03}, {1.25, 1.30, 1.08}, {1.15, 1.62, 1.02}, {1.9, 1.9, 1.15},
    {1.10, 1.5, 1.04}, {1.12, 1.15, 0.90}, {0.98, 1.08, 0.97}};
static const char *const frozen[] = {"paper16", "paper16p", "surge16", "mixed64", "wear64", "campus512", "gavel108"};

struct sample {
    struct adl_arena arena;
    struct adl_arena_policy policies[POLICIES];
    struct adl_arena_workload workloads[WORKLOADS];
    struct adl_arena_cell cells[WORKLOADS * POLICIES];
};

static struct adl_arena_cell *cell_at(struct sample *sample, uint32_t workload, uint32_t policy)
{
    return &sample->cells[workload * POLICIES + policy];
}

static void build_workload(struct sample *sample, uint32_t w)
{
    struct adl_arena_workload *workload = &sample->workloads[w];
    *workload = (struct adl_arena_workload){.group = w < 7    ? "frozen"
                                                     : w < 12 ? "shift"
                                                     : w < 24 ? "random"
                                                              : "trace",
                                            .regime = "declared",
                                            .gpus = 16,
                                            .jobs = 256,
                                            .first_seed = 700000,
                                            .seed_count = 20,
                                            .sla = w == 3};
    if (w < 7)
        snprintf(workload->name, sizeof workload->name, "%s", frozen[w]);
    else
        snprintf(workload->name, sizeof workload->name, "%s-%" PRIu32, workload->group, w);
    snprintf(workload->about, sizeof workload->about, "what workload %" PRIu32 " is", w);
    if (w == WORKLOADS - 1)
        snprintf(workload->skipped, sizeof workload->skipped, "there is no file trace.csv");
}

static void build_cell(struct sample *sample, uint32_t w, uint32_t p, double noise)
{
    struct adl_arena_cell *cell = cell_at(sample, w, p);
    cell->state = ADL_ARENA_DONE;
    cell->metrics[ADL_METRIC_JCT_MEAN].mean = 40.0 * (w + 1) * pow(strength[p][0], 0.5 + 0.05 * w) * noise;
    cell->metrics[ADL_METRIC_JCT_P99].mean = 200.0 * (w + 1) * strength[p][1] * noise;
    cell->metrics[ADL_METRIC_ENERGY].mean = 1e6 * strength[p][2] * sqrt(noise);
    cell->metrics[ADL_METRIC_SLA].mean = 0.9;
    cell->metrics[ADL_METRIC_DECISION_P99].mean = 1.5 + p;
    cell->evictions = p > 6 ? 12.5 * p : 0;
    cell->lost_gpu_s = p > 6 ? 61.5 * p : 0;
}

static void build_ratios(struct sample *sample, uint32_t w)
{
    struct adl_arena_workload *workload = &sample->workloads[w];
    workload->best_peer = 0;
    for (uint32_t p = 1; p < POLICIES; p++)
        if (p != sample->arena.ours && cell_at(sample, w, p)->metrics[ADL_METRIC_JCT_MEAN].mean <
                                           cell_at(sample, w, workload->best_peer)->metrics[ADL_METRIC_JCT_MEAN].mean)
            workload->best_peer = p;
    for (uint32_t p = 0; p < POLICIES; p++) {
        const double ratio = cell_at(sample, w, p)->metrics[ADL_METRIC_JCT_MEAN].mean /
                             cell_at(sample, w, workload->best_peer)->metrics[ADL_METRIC_JCT_MEAN].mean;
        cell_at(sample, w, p)->versus_peer =
            (struct adl_arena_ratio){ratio, ratio * 0.97, ratio * 1.03, fabs(ratio - 1) > 0.03 ? 0.0004 : 0.3};
        sample->policies[p].versus_peer.ratio += log(ratio);
        sample->policies[p].workloads++;
    }
    workload->ours = cell_at(sample, w, sample->arena.ours)->versus_peer;
    workload->verdict = workload->ours.p >= 0.05     ? ADL_ARENA_DRAW
                        : workload->ours.ratio < 1.0 ? ADL_ARENA_WIN
                                                     : ADL_ARENA_LOSS;
    sample->arena.all.workloads++;
    sample->arena.all.wins += workload->verdict == ADL_ARENA_WIN;
    sample->arena.all.losses += workload->verdict == ADL_ARENA_LOSS;
    sample->arena.all.draws += workload->verdict == ADL_ARENA_DRAW;
    sample->arena.all.below += workload->ours.ratio < 1;
}

static struct sample *sample_create(void)
{
    struct sample *sample = calloc(1, sizeof *sample);
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "noise");
    sample->arena = (struct adl_arena){.version = "1.2.3",
                                       .regime = "declared",
                                       .seeds = "validation",
                                       .budget_s = 600,
                                       .ours = POLICIES - 1,
                                       .policy_count = POLICIES,
                                       .workload_count = WORKLOADS,
                                       .policies = sample->policies,
                                       .workloads = sample->workloads,
                                       .cells = sample->cells};
    for (uint32_t p = 0; p < POLICIES; p++) {
        snprintf(sample->policies[p].name, sizeof sample->policies[p].name, "%s", policy_names[p]);
        sample->policies[p].ours = p == POLICIES - 1;
    }
    for (uint32_t w = 0; w < WORKLOADS; w++) {
        build_workload(sample, w);
        for (uint32_t p = 0; p < POLICIES && !sample->workloads[w].skipped[0]; p++)
            build_cell(sample, w, p, exp(0.08 * adl_rng_normal(&rng)));
        if (!sample->workloads[w].skipped[0])
            build_ratios(sample, w);
    }
    for (uint32_t p = 0; p < POLICIES; p++) {
        struct adl_arena_ratio *ratio = &sample->policies[p].versus_peer;
        ratio->ratio = exp(ratio->ratio / sample->policies[p].workloads);
    }
    sample->arena.all.ratio =
        (struct adl_arena_ratio){sample->policies[POLICIES - 1].versus_peer.ratio, 0.9, 1.1, 0.04};
    sample->arena.groups[0] = sample->arena.all;
    sample->arena.groups[0].group = "frozen";
    return sample;
}

static struct adl_text page_of(const struct sample *sample, const char *label)
{
    struct adl_text text = {0};
    const char *folder = getenv("ADL_REPORT_DIR");
    adl_arena_page(&text, &sample->arena);
    assert_int_equal(adl_text_status(&text), 0);
    if (folder) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s.html", folder, label);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(text.data, 1, text.size, file), text.size);
        fclose(file);
    }
    return text;
}

static void the_heat_map_names_everything_and_every_cell_has_its_number(void **state)
{
    (void)state;
    struct sample *sample = sample_create();
    struct adl_text text = page_of(sample, "arena");
    char needed[200];
    for (uint32_t p = 0; p < POLICIES; p++) {
        snprintf(needed, sizeof needed, "<span>%s</span></th>", policy_names[p]);
        assert_int_equal(count_of(text.data, needed), 1);
    }
    for (uint32_t w = 0; w < WORKLOADS; w++) {
        snprintf(needed, sizeof needed, "<span class=\"n\">%s</span>", sample->workloads[w].name);
        assert_int_equal(count_of(text.data, needed), 2); /* in the heat map and in the table */
        for (uint32_t p = 0; p < POLICIES && w + 1 < WORKLOADS; p++) {
            char number[ADL_FIGURE_SIZE];
            const double ratio = cell_at(sample, w, p)->versus_peer.ratio;
            snprintf(needed, sizeof needed, " title=\"%s on %s: mean JCT ", policy_names[p], sample->workloads[w].name);
            const char *cell = strstr(text.data, needed);
            assert_non_null(cell);
            cell = strchr(cell, '>');
            snprintf(
                needed, sizeof needed, ">%s</td>",
                adl_figure_print(number, ratio, (struct adl_scale){.factor = 1, .decimals = ratio < 9.995 ? 2 : 1}));
            assert_memory_equal(cell, needed, strlen(needed));
        }
    }
    assert_int_equal(count_of(text.data, "skipped: there is no file trace.csv"), 2);
    adl_text_clear(&text);
    free(sample);
}

static void the_page_is_balanced_and_fetches_nothing(void **state)
{
    (void)state;
    struct sample *sample = sample_create();
    struct adl_text text = page_of(sample, "arena");
    page_check_balance(text.data);
    page_check_self_contained(text.data, "arena");
    assert_int_equal(count_of(text.data, "<svg "), 2 + 2 * 7);
    adl_text_clear(&text);
    free(sample);
}

static void a_cell_without_a_result_says_why(void **state)
{
    (void)state;
    struct sample *sample = sample_create();
    *cell_at(sample, 1, 9) = (struct adl_arena_cell){.state = ADL_ARENA_OVER_BUDGET, .cpu_s = 612};
    *cell_at(sample, 2, 9) = (struct adl_arena_cell){.state = ADL_ARENA_ABSENT};
    *cell_at(sample, 2, POLICIES - 1) = (struct adl_arena_cell){.state = ADL_ARENA_OVER_BUDGET, .cpu_s = 612};
    cell_at(sample, 3, 9)->unfinished = 4;
    sample->policies[9].workloads -= 2;
    struct adl_text text = page_of(sample, "arena_gaps");
    assert_non_null(strstr(text.data, "gavel on paper16p: stopped after 10.2 min of processor time\">over</td>"));
    assert_non_null(strstr(text.data, "gavel on surge16: did not run\">\u2013</td>"));
    assert_non_null(strstr(text.data, "4 jobs unfinished, which are in no mean"));
    assert_non_null(strstr(text.data, "ours or every peer is not done"));
    assert_int_equal(count_of(text.data, "\u2020</td>"), 1);
    page_check_balance(text.data);
    page_check_self_contained(text.data, "arena_gaps");
    adl_text_clear(&text);
    free(sample);
}

static void names_are_escaped(void **state)
{
    (void)state;
    struct sample *sample = sample_create();
    snprintf(sample->policies[POLICIES - 1].name, sizeof sample->policies[0].name, "<b>&\"'\xff");
    snprintf(sample->workloads[0].name, sizeof sample->workloads[0].name, "<i>&\"'");
    snprintf(sample->workloads[0].about, sizeof sample->workloads[0].about, "</script><u>\n");
    struct adl_text text = page_of(sample, "arena_nasty");
    assert_null(strstr(text.data, "<b>&\""));
    assert_null(strstr(text.data, "<i>"));
    assert_null(strstr(text.data, "<u>"));
    assert_null(strstr(text.data, "\xff"));
    page_check_balance(text.data);
    adl_text_clear(&text);
    free(sample);
}

static void an_arena_without_results_is_a_page(void **state)
{
    (void)state;
    struct sample *sample = sample_create();
    for (uint32_t i = 0; i < WORKLOADS * POLICIES; i++)
        sample->cells[i] = (struct adl_arena_cell){.versus_peer = {NAN, NAN, NAN, NAN}};
    for (uint32_t p = 0; p < POLICIES; p++)
        sample->policies[p].versus_peer = (struct adl_arena_ratio){NAN, NAN, NAN, NAN};
    for (uint32_t w = 0; w < WORKLOADS; w++)
        sample->workloads[w].best_peer = ADL_NONE;
    sample->arena.all = (struct adl_arena_total){.ratio = {NAN, NAN, NAN, NAN}};
    struct adl_text text = page_of(sample, "arena_empty");
    page_check_balance(text.data);
    page_check_self_contained(text.data, "arena_empty");
    assert_int_equal(count_of(text.data, "<svg "), 0);
    adl_text_clear(&text);
    free(sample);
}

static void a_page_into_a_text_without_memory_fails(void **state)
{
    (void)state;
    struct sample *sample = sample_create();
    struct adl_text text = {.failed = true};
    adl_arena_page(&text, &sample->arena);
    assert_int_equal(adl_text_status(&text), ADL_ENOMEM);
    assert_int_equal(text.size, 0);
    adl_text_clear(&text);
    free(sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_heat_map_names_everything_and_every_cell_has_its_number),
        cmocka_unit_test(the_page_is_balanced_and_fetches_nothing),
        cmocka_unit_test(a_cell_without_a_result_says_why),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(an_arena_without_results_is_a_page),
        cmocka_unit_test(a_page_into_a_text_without_memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
