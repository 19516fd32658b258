#include "estimate_unseen.h"

#define SHARED_DATA ADL_SOURCE_DIR "/../shared/data"

enum { UNSEEN_V100, UNSEEN_RTX6000, UNSEEN_A40, UNSEEN_T4, UNSEEN_TYPES };

static const struct adl_gpu_type unseen_types[UNSEEN_TYPES] = {
    {.name = "v100",
     .vendor = "NVIDIA",
     .memory_mib = 32768,
     .bandwidth_gbs = 900,
     .fp32_tflops = 14.0,
     .fp16_tflops = 112,
     .fp64_tflops = 7.0},
    {.name = "rtx6000",
     .vendor = "NVIDIA",
     .memory_mib = 24576,
     .bandwidth_gbs = 672,
     .fp32_tflops = 16.3,
     .fp16_tflops = 130,
     .fp64_tflops = 0.51},
    {.name = "a40",
     .vendor = "NVIDIA",
     .memory_mib = 49152,
     .bandwidth_gbs = 696,
     .fp32_tflops = 37.4,
     .fp16_tflops = 150,
     .fp64_tflops = 0.58},
    {.name = "t4",
     .vendor = "NVIDIA",
     .memory_mib = 16384,
     .bandwidth_gbs = 320,
     .fp32_tflops = 8.1,
     .fp16_tflops = 65,
     .fp64_tflops = 0.25},
};

/* One job: its name, batch and speed, relative to whatever, on each type; 0 = not measured. */
struct unseen_job {
    char name[96];
    double batch, limit_w[UNSEEN_TYPES], rate[UNSEEN_TYPES];
};

enum { UNSEEN_JOBS = 128 };

static struct unseen_job *unseen_find(struct unseen_job *jobs, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(jobs[i].name, name) == 0)
            return &jobs[i];
    if (*count == UNSEEN_JOBS)
        return NULL;
    snprintf(jobs[*count].name, sizeof jobs->name, "%s", name);
    return &jobs[(*count)++];
}

/* Samples of an epoch, as published with the data sets. */
static double unseen_samples(const char *set)
{
    static const struct {
        const char *name;
        double samples;
    } sets[] = {{"cifar100", 50000},       {"imagenet", 1281167},     {"librispeech", 281241},
                {"movielens-1m", 4970845}, {"sentiment140", 1600000}, {"squad", 88524}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(set, sets[i].name) == 0)
            return sets[i].samples;
    return 1e5;
}

static void unseen_read_zeus(int type, struct unseen_job *jobs, int *count)
{
    char path[512], line[512], *cells[8], name[96];
    snprintf(path, sizeof path, SHARED_DATA "/zeus/summary_power_%.99s.csv", unseen_types[type].name);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (gavel_cells(line, cells, 8) < 7 || !(strtod(cells[5], NULL) > 0))
            continue;
        snprintf(name, sizeof name, "%.30s %.30s %.10s %.15s", cells[0], cells[1], cells[2], cells[3]);
        struct unseen_job *job = unseen_find(jobs, count, name);
        if (!job || strtod(cells[4], NULL) < job->limit_w[type])
            continue;
        job->batch = strtod(cells[2], NULL);
        job->limit_w[type] = strtod(cells[4], NULL);
        job->rate[type] = unseen_samples(cells[0]) / job->batch / strtod(cells[5], NULL);
    }
    if (file)
        fclose(file);
}

/* Step time on T4 at a batch size between two that were measured, log-linear; 0 = outside of them. */
static double unseen_t4_step_s(const char *task, double batch)
{
    char path[512], line[512], *cells[8];
    double below = 0, below_s = 0, step_s = 0;
    snprintf(path, sizeof path, SHARED_DATA "/pollux/%s/placements.csv", task);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (gavel_cells(line, cells, 8) < 3 || strcmp(cells[0], "1") != 0)
            continue;
        const double at = strtod(cells[1], NULL), at_s = strtod(cells[2], NULL);
        if (below > 0 && below <= batch && batch <= at && step_s <= 0)
            step_s = below_s * pow(at_s / below_s, log(batch / below) / log(at / below));
        below = at;
        below_s = at_s;
    }
    if (file)
        fclose(file);
    return step_s;
}

static void unseen_read_t4(struct unseen_job *jobs, int *count)
{
    static const char *const tasks[2][2] = {{"ResNet-18", "cifar10"}, {"ResNet-50", "imagenet"}};
    struct adl_lab *lab = trial_must_have(malloc(sizeof *lab));
    char name[96];
    if (gavel_load(lab))
        for (int task = 0; task < 2; task++)
            for (int batch = 16; batch <= 256; batch *= 2) {
                const double step_s = unseen_t4_step_s(tasks[task][1], batch);
                snprintf(name, sizeof name, "%s (batch size %d)", tasks[task][0], batch);
                const int j = gavel_job_of(lab, name);
                struct unseen_job *job = j >= 0 && step_s > 0 ? unseen_find(jobs, count, name) : NULL;
                if (!job)
                    continue;
                job->batch = batch;
                job->rate[UNSEEN_V100] = exp(lab->rate[j][2]);
                job->rate[UNSEEN_T4] = 1 / step_s;
            }
    free(lab);
}

void unseen_show(const struct adl_estimator *estimator)
{
    static struct unseen_job jobs[UNSEEN_JOBS];
    struct adl_cluster cluster = {.types = (struct adl_gpu_type *)unseen_types, .type_count = UNSEEN_TYPES};
    struct adl_text bytes = {0};
    int count = 0;
    for (int type = UNSEEN_V100; type <= UNSEEN_A40; type++)
        unseen_read_zeus(type, jobs, &count);
    unseen_read_t4(jobs, &count);
    adl_estimator_encode(estimator, &bytes);
    puts("\nGPU types not trained on, after one measurement on V100: error of log steps/s, of V100 * FP32 ratio, "
         "coverage");
    for (uint32_t type = UNSEEN_RTX6000; type < UNSEEN_TYPES; type++) {
        struct tally ours = {0}, naive = {0};
        double inside = 0;
        for (int i = 0; i < count; i++) {
            const struct adl_job_spec spec = {
                .name_id = (uint32_t)i + 1, .gpus = 1, .cpu_cores = 4, .gpu_memory_mib = 4096};
            struct adl_estimates *e = NULL;
            struct adl_estimate found;
            struct adl_error err;
            if (!(jobs[i].rate[UNSEEN_V100] > 0 && jobs[i].rate[type] > 0))
                continue;
            trial_check(adl_estimates_create(&cluster, 2, bytes.data, bytes.size, &e, &err), &err);
            const uint32_t profile = adl_estimates_profile(e, &spec, false);
            adl_estimates_measure(e, profile, UNSEEN_V100, ADL_NONE, jobs[i].rate[UNSEEN_V100]);
            adl_estimates_find(e, profile, type, ADL_NONE, &found);
            tally_add(&ours, log(found.steps_per_s / jobs[i].rate[type]));
            tally_add(&naive, log(jobs[i].rate[UNSEEN_V100] * unseen_types[type].fp32_tflops /
                                  unseen_types[UNSEEN_V100].fp32_tflops / jobs[i].rate[type]));
            inside += jobs[i].rate[type] >= found.low && jobs[i].rate[type] <= found.high;
            adl_estimates_destroy(e);
        }
        if (ours.count > 0)
            printf("  %-8s %3.0f jobs  %.3f  %.3f  %5.1f %%\n", unseen_types[type].name, ours.count, tally_mean(&ours),
                   tally_mean(&naive), 100 * inside / ours.count);
    }
    adl_text_clear(&bytes);
}
