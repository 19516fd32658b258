/* bench_hdc: accuracy and cost of hypervectors: fields decoded from a record, run times predicted from similar jobs,
 * the nearest of 100,000 against the memory bandwidth of this machine. A bar that is missed is marked and makes
 * it exit 1. Parameters were chosen on campus512's seeds 101 and 102 and on the first third of Chronus; what is shown
 * is measured on other seeds and on the rest. */
#include "experiment/run.h"
#include "foresight.h"
#include "hdc/memory.h"
#include "random_records.h"

#include <unistd.h>

#define CHRONUS ADL_SOURCE_DIR "/../shared/data/chronus/trace_job_Philly_MIX1.csv"

enum { RECORDS = 2000, STORED = 100000, REPEATS = 15, SEEDS = 5, CAPACITY = 16384, NEAREST = 64 };

static int missed;

static const char *verdict(bool met)
{
    missed += !met;
    return met ? "met" : "MISSED";
}

static void check(int status, const struct adl_error *err)
{
    if (status == 0)
        return;
    fprintf(stderr, "bench_hdc: %s\n", err->text);
    exit(1);
}

static void bench_recovery(struct adl_encoder *encoder)
{
    struct adl_value values[RECORD_FIELDS];
    struct adl_hypervector record;
    struct recovery sum = {0};
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "recovery");
    for (int r = 0; r < RECORDS; r++) {
        draw_record(&rng, values);
        adl_encoder_encode(encoder, values, &record);
        recover_record(encoder, values, &record, &sum);
    }
    const double symbols = (double)sum.symbols_right / sum.symbols, numbers = (double)sum.numbers_right / sum.numbers;
    printf(
        "%d records of %d fields: symbols read back %.3f %% (bar 99: %s), numbers within 1 of 32 levels %.3f %% (bar "
        "99: %s)\n",
        RECORDS, RECORD_FIELDS, 100 * symbols, verdict(symbols >= 0.99), 100 * numbers, verdict(numbers >= 0.99));
}

/* ---- run times ---- */

static void show_foresight(const char *what, const struct foresight *seen, bool uses_limits)
{
    const double *error = seen->error, ours = error[BY_SIMILAR];
    double mean = error[BY_MEAN] < error[BY_GEOMETRIC_MEAN] ? error[BY_MEAN] : error[BY_GEOMETRIC_MEAN];
    mean = error[BY_LAST_TWO] < mean ? error[BY_LAST_TWO] : mean;
    printf("%-26s %7zu %7.3f %7.3f %7.3f %7.3f ", what, seen->count[BY_SIMILAR], error[BY_LIMIT], error[BY_MEAN],
           error[BY_GEOMETRIC_MEAN], error[BY_LAST_TWO]);
    printf(seen->count[BY_HISTORY] ? "%7.3f " : "      - ", error[BY_HISTORY]);
    printf("%7.3f   %3.0f %%", ours, 100 * seen->spread_covers);
    if (uses_limits)
        printf("   %+.0f %% of limits (bar -30: %s)", 100 * (ours / error[BY_LIMIT] - 1),
               verdict(ours <= 0.7 * error[BY_LIMIT]));
    printf("   %+.0f %% of the best mean (bar -10: %s)\n", 100 * (ours / mean - 1), verdict(ours <= 0.9 * mean));
    fflush(stdout);
}

static struct foresight foresee(const struct past_job *jobs, size_t count, size_t first, bool told_only)
{
    struct adl_similar *similar = NULL;
    struct adl_error err;
    check(adl_similar_create(CAPACITY, &similar, &err), &err);
    const struct foresight seen = look_ahead(jobs, count, first, told_only, similar);
    adl_similar_destroy(similar);
    return seen;
}

/* How often the class is told from the rest of the submission, against always saying the one that is most frequent. */
static void show_class(struct past_job *jobs, size_t count)
{
    size_t by_class[256] = {0}, most = 0;
    for (size_t j = 0; j < count; j++) {
        jobs[j].traits.values[ADL_TRAIT_CLASS].known = false;
        jobs[j].traits.values[ADL_TRAIT_NAME].known = false; /* a simulated job is named after its class */
        const size_t same = ++by_class[jobs[j].class_index % 256];
        most = same > most ? same : most;
    }
    const struct foresight seen = foresee(jobs, count, 0, false);
    printf("campus512, class hidden: told right %.1f %% (the most frequent class: %.1f %%), run times %.3f\n",
           100 * seen.class_share, 100.0 * (double)most / (double)count, seen.error[BY_SIMILAR]);
}

static void bench_foresight(void)
{
    struct adl_scenario scenario;
    struct adl_error err;
    size_t count = 0;
    printf(
        "\nmedian |ln(predicted / true run time)|, from jobs that ended before the submission\n%-26s %7s %7s %7s %7s "
        "%7s %7s %7s   within spread\n",
        "", "jobs", "limits", "mean", "geomean", "last 2", "history", "similar");
    check(adl_scenario_load(ADL_SOURCE_DIR "/scenarios/campus512.yaml", &scenario, NULL, &err), &err);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char what[64];
        struct past_job *jobs = jobs_of_scenario(&scenario, seed, &count);
        const struct foresight seen = foresee(jobs, count, 0, false);
        snprintf(what, sizeof what, "campus512, seed %llu", (unsigned long long)seed);
        show_foresight(what, &seen, true);
        if (seed == SEEDS)
            show_class(jobs, count);
        free(jobs);
    }
    adl_scenario_clear(&scenario);
    if (access(CHRONUS, R_OK) != 0) {
        printf("Chronus skipped: %s is not there\n", CHRONUS);
        return;
    }
    for (int with = 1; with >= 0; with--) {
        struct past_job *jobs = jobs_of_chronus(CHRONUS, with, &count);
        if (!jobs)
            exit(1);
        struct foresight seen = foresee(jobs, count, count / 3, with);
        show_foresight(with ? "Chronus, with deadline" : "Chronus, deadlines unused", &seen, with);
        if (with) {
            seen = foresee(jobs, count, count / 3, false);
            show_foresight("Chronus, all jobs", &seen, false);
        }
        free(jobs);
    }
}

/* ---- time ---- */

/* Four streams of a cache line at once, so that memory is what it waits for. count is a multiple of 32. */
static uint64_t read_all(const uint64_t *words, size_t count)
{
    const size_t part = count / 4;
    uint64_t sums[8] = {0}, sum = 0;
    for (size_t w = 0; w < part; w += 8)
        for (size_t stream = 0; stream < 4; stream++)
            for (size_t i = 0; i < 8; i++)
                sums[i] += words[stream * part + w + i];
    for (int i = 0; i < 8; i++)
        sum += sums[i];
    return sum;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double since_ms(int64_t start_ns)
{
    return (double)(adl_clock_ns() - start_ns) * 1e-6;
}

struct search_times {
    double read_ms, exact_ms, quick_ms;
    uint32_t agreed; /* neighbours that both searches found */
};

static void time_search(struct adl_memory *memory, const uint64_t *words, const struct adl_hypervector *query,
                        struct search_times *times)
{
    struct adl_neighbour exact[NEAREST], quick[NEAREST];
    volatile uint64_t sink;
    int64_t start_ns = adl_clock_ns();
    sink = read_all(words, (size_t)STORED * ADL_HYPER_WORDS);
    (void)sink;
    times->read_ms = least(times->read_ms, since_ms(start_ns));
    start_ns = adl_clock_ns();
    adl_memory_nearest(memory, query, NEAREST, exact);
    times->exact_ms = least(times->exact_ms, since_ms(start_ns));
    start_ns = adl_clock_ns();
    adl_memory_nearest_quickly(memory, query, 4 * NEAREST, NEAREST, quick);
    times->quick_ms = least(times->quick_ms, since_ms(start_ns));
    for (int i = 0; i < NEAREST; i++)
        for (int j = 0; j < NEAREST; j++)
            times->agreed += exact[i].place == quick[j].place;
}

static void bench_memory(struct adl_encoder *encoder)
{
    struct adl_memory *memory = NULL;
    struct adl_error err;
    struct adl_value values[RECORD_FIELDS];
    struct adl_hypervector vector;
    struct adl_rng rng;
    struct search_times times = {1e9, 1e9, 1e9, 0};
    uint64_t *words = malloc((size_t)STORED * ADL_HYPER_WORDS * sizeof *words);
    double encode_us = 1e9;
    check(adl_memory_create(STORED, NULL, &memory, &err), &err);
    if (!words)
        exit(1);
    adl_rng_seed(&rng, 2, "stored");
    for (int i = 0; i < STORED; i++) {
        draw_record(&rng, values);
        const int64_t start_ns = adl_clock_ns();
        adl_encoder_encode(encoder, values, &vector);
        encode_us = least(encode_us, since_ms(start_ns) * 1e3);
        adl_memory_add(memory, &vector);
        memcpy(words + (size_t)i * ADL_HYPER_WORDS, &vector, sizeof vector);
    }
    for (int r = 0; r < REPEATS; r++) {
        draw_record(&rng, values);
        adl_encoder_encode(encoder, values, &vector);
        time_search(memory, words, &vector, &times);
    }
    const double bytes = (double)STORED * sizeof vector, ratio = times.exact_ms / times.read_ms;
    printf("\nkernels %s; encode %d fields %.1f us\n", adl_hyper_ops_best()->name, RECORD_FIELDS, encode_us);
    printf("nearest %d of %d: %.2f ms (%.1f GB/s); reading as much %.2f ms (%.1f GB/s); ratio %.2f (bar 2: %s)\n",
           NEAREST, STORED, times.exact_ms, bytes / times.exact_ms * 1e-6, times.read_ms, bytes / times.read_ms * 1e-6,
           ratio, verdict(ratio <= 2));
    printf("by 512 bits first, then %d whole ones: %.2f ms, finds %.1f %% of them\n", 4 * NEAREST, times.quick_ms,
           100.0 * times.agreed / (REPEATS * NEAREST));
    adl_memory_destroy(memory);
    free(words);
}

int main(void)
{
    struct adl_encoder *encoder = NULL;
    struct adl_error err;
    check(adl_encoder_create(record_fields, RECORD_FIELDS, 1, NULL, &encoder, &err), &err);
    bench_recovery(encoder);
    bench_foresight();
    bench_memory(encoder);
    adl_encoder_destroy(encoder);
    return missed > 0;
}
