/* bench_solve: how long an allotment takes and how good it is: prices, rounding and swaps alone, and with the exact
 * part behind them. Random job classes on six types of GPU, alone and in pairs on one GPU; an offer costs its energy
 * and what a missed SLA costs. Times are of the processor, the best of a few for each instance, as the machine has
 * other work. Prints a table; a bar that is missed is marked and makes it exit 1. */
#include "base/real.h"
#include "base/rng.h"
#include "solve/allotment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TYPES       6
#define CLASSES_MAX 160
#define OFFERS_MAX  20000
#define INSTANCES   200
#define REPEATS     2
#define DECISION_MS 50
#define SWAPS       1000

static int missed;

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

/* ---- instances ---- */

struct class
{
    double load, speed_min, speed[TYPES]; /* load: share of a GPU it keeps busy; speeds relative to the best type */
};

struct instance {
    struct adl_allotment_problem problem;
    struct class classes[CLASSES_MAX];
    uint32_t jobs[CLASSES_MAX], gpus[TYPES], offer_count;
    double wait[CLASSES_MAX];
    struct adl_offer offers[OFFERS_MAX];
};

static const double type_speed[TYPES] = {1.0, 0.8, 0.62, 0.5, 0.35, 0.22};
static const double type_power_w[TYPES] = {350, 300, 250, 180, 230, 70};

/* A second of work takes longer on a slow type and with a neighbour; its energy and its SLA make the cost. */
static double cost_of(const struct class *class, double speed, double power_w)
{
    const double energy = 1e-3 * power_w / speed;
    return energy + (speed < class->speed_min ? 2 * (1 - speed / class->speed_min) : 0);
}

static void offer_alone(struct instance *in, uint32_t c, uint32_t gpus)
{
    for (uint32_t t = 0; t < TYPES; t++) {
        const struct class *class = &in->classes[c];
        const double power_w = gpus * type_power_w[t] * (0.3 + 0.7 * class->load);
        in->offers[in->offer_count++] = (struct adl_offer){.group = {c, ADL_NONE},
                                                           .pool = t,
                                                           .gpus = gpus,
                                                           .cost = cost_of(class, class->speed[t], power_w),
                                                           .power_w = power_w};
    }
}

static void offer_pair(struct instance *in, struct adl_rng *rng, uint32_t c, uint32_t d)
{
    const struct class *one = &in->classes[c], *two = &in->classes[d];
    const double load = one->load + two->load, slow = load > 1 ? 1 / load : 1;
    for (uint32_t t = 0; t < TYPES && load < 1.5 && in->offer_count < OFFERS_MAX; t++) {
        const double power_w = type_power_w[t] * (0.3 + 0.7 * (load > 1 ? 1 : load));
        const double speed_one = one->speed[t] * slow * (0.85 + 0.15 * adl_rng_uniform(rng));
        const double speed_two = two->speed[t] * slow * (0.85 + 0.15 * adl_rng_uniform(rng));
        in->offers[in->offer_count++] =
            (struct adl_offer){.group = {c, d},
                               .pool = t,
                               .gpus = 1,
                               .cost = cost_of(one, speed_one, power_w / 2) + cost_of(two, speed_two, power_w / 2),
                               .power_w = power_w};
    }
}

static void make(struct instance *in, struct adl_rng *rng, uint32_t gpus, uint32_t jobs, uint32_t classes)
{
    memset(in, 0, sizeof *in);
    for (uint32_t j = 0; j < jobs; j++)
        in->jobs[j < classes ? j : adl_rng_below(rng, classes)]++;
    for (uint32_t t = 0; t < TYPES; t++)
        in->gpus[t] = gpus / TYPES + (t < gpus % TYPES);
    for (uint32_t c = 0; c < classes; c++) {
        struct class *class = &in->classes[c];
        class->load = 0.25 + 0.7 * adl_rng_uniform(rng);
        class->speed_min = adl_rng_below(rng, 2) ? 0 : 0.2 + 0.5 * adl_rng_uniform(rng);
        for (uint32_t t = 0; t < TYPES; t++)
            class->speed[t] = type_speed[t] * adl_exp(0.35 * adl_rng_normal(rng));
        in->wait[c] = 1.5 + 3 * adl_rng_uniform(rng); /* by priority */
        offer_alone(in, c, adl_rng_below(rng, 7) ? 1 : 2);
    }
    for (uint32_t c = 0; c < classes; c++)
        for (uint32_t d = c; d < classes; d++)
            offer_pair(in, rng, c, d);
    in->problem = (struct adl_allotment_problem){.group_count = classes,
                                                 .pool_count = TYPES,
                                                 .offer_count = in->offer_count,
                                                 .group_jobs = in->jobs,
                                                 .wait_cost = in->wait,
                                                 .pool_gpus = in->gpus,
                                                 .offers = in->offers,
                                                 .power_cap_w = HUGE_VAL};
}

/* ---- measuring ---- */

struct sample {
    double ms[INSTANCES], gap[INSTANCES]; /* gap: share of the bound */
    uint32_t nodes, unproved, greedy_stood;
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, double share)
{
    qsort(values, INSTANCES, sizeof *values, compare);
    return values[(size_t)(share * (INSTANCES - 1) + 0.5)];
}

static double mean(const double *values)
{
    double sum = 0;
    for (int i = 0; i < INSTANCES; i++)
        sum += values[i] / INSTANCES;
    return sum;
}

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The best time of a few equal calls, each from nothing. */
static double time_ms(struct adl_allotment *allotment, const struct instance *in,
                      const struct adl_allotment_limits *limits, struct adl_allotment_answer *ret)
{
    static uint32_t times[OFFERS_MAX];
    double best = HUGE_VAL;
    for (int i = 0; i < REPEATS; i++) {
        memset(times, 0, sizeof times);
        const int64_t start_ns = processor_ns();
        adl_allotment_solve(allotment, &in->problem, limits, times, ret);
        best = fmin(best, (double)(processor_ns() - start_ns) * 1e-6);
    }
    return best;
}

static void measure(struct adl_allotment *allotment, const uint32_t size[3], const struct adl_allotment_limits *limits,
                    struct sample *greedy, struct sample *exact)
{
    static struct instance in;
    struct adl_rng rng;
    adl_rng_seed(&rng, 2, "solve"); /* 1 is what the constants of solve/ were chosen by */
    memset(greedy, 0, sizeof *greedy);
    memset(exact, 0, sizeof *exact);
    const struct adl_allotment_limits quick = {.swaps = limits->swaps};
    for (int i = 0; i < INSTANCES; i++) {
        struct adl_allotment_answer first, best;
        make(&in, &rng, size[0], size[1], size[2]);
        greedy->ms[i] = time_ms(allotment, &in, &quick, &first);
        exact->ms[i] = time_ms(allotment, &in, limits, &best);
        greedy->gap[i] = first.cost / best.bound - 1;
        exact->gap[i] = best.cost / best.bound - 1;
        exact->nodes += best.nodes;
        exact->unproved += !best.optimal;
        exact->greedy_stood += best.by == ADL_ALLOTMENT_GREEDY;
    }
    printf("%3u x %3u, %3u groups %6u", size[0], size[1], size[2], in.problem.offer_count);
}

static void print_sample(struct sample *sample)
{
    const double gap = 100 * mean(sample->gap), gap_worst = 100 * quantile(sample->gap, 1);
    printf("  %6.2f %6.2f %6.2f %6.2f", quantile(sample->ms, 0.5), quantile(sample->ms, 0.99), gap, gap_worst);
}

int main(void)
{
    static const uint32_t sizes[][3] = {{16, 32, 32}, {64, 128, 60}, {256, 512, 60}, {256, 512, 100}};
    static struct sample greedy, exact;
    const struct adl_allotment_limits limits = {.swaps = SWAPS, .nodes = 200, .iterations = 1500, .gap = 0.001};
    struct adl_allotment *allotment = NULL;
    if (adl_allotment_create(CLASSES_MAX, TYPES, OFFERS_MAX, &allotment) < 0) {
        fprintf(stderr, "bench_solve: out of memory\n");
        return 1;
    }
    printf("%d instances a line; swaps at most %d, nodes %u, iterations %u, gap %.1f %%; processor times in ms, gaps "
           "in %%\n\n",
           INSTANCES, SWAPS, limits.nodes, limits.iterations, 100 * limits.gap);
    printf("%28s  %-27s  %-27s\n", "", "prices, rounding, swaps", "and exact");
    printf("%-21s %6s  %6s %6s %6s %6s  %6s %6s %6s %6s %6s %8s %6s\n", "GPUs x jobs", "offers", "p50", "p99", "gap",
           "worst", "p50", "p99", "gap", "worst", "nodes", "at limit", "greedy");
    double p99 = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        measure(allotment, sizes[i], &limits, &greedy, &exact);
        print_sample(&greedy);
        print_sample(&exact);
        printf(" %6.1f %6.0f %% %4.0f %%\n", (double)exact.nodes / INSTANCES, 100.0 * exact.unproved / INSTANCES,
               100.0 * exact.greedy_stood / INSTANCES);
        p99 = sizes[i][0] == 256 ? fmax(p99, quantile(exact.ms, 0.99)) : p99;
    }
    printf("\nat limit: the exact part stopped unproved; greedy: and had found nothing better\n");
    printf("256 x 512, exact with its limits, p99 %.1f ms, at most %d ms: %s\n", p99, DECISION_MS,
           verdict(p99 <= DECISION_MS));
    adl_allotment_destroy(allotment);
    return missed > 0;
}
