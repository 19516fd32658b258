#include "gavel_lab.h"

#define GAVEL ADL_SOURCE_DIR "/../shared/data/gavel/simulation_throughputs"

static const struct gavel_family {
    const char *name;
    double gmac;           /* per sample */
    int memory_mib;        /* whatever the batch */
    double memory_per_mib; /* per sample */
    int cores;
} gavel_families[GAVEL_FAMILIES] = {
    {"A3C", 0, 1200, 0, 8},
    {"CycleGAN", 342, 5500, 0, 4},
    {"LM", 0.26, 1100, 12, 2},
    {"Recommendation", 0.008, 1500, 0.55, 4},
    {"ResNet-18", 0.56, 1100, 9, 4},
    {"ResNet-50", 4.1, 1800, 50, 6},
    {"Transformer", 1.3, 1500, 25, 2},
};

static const struct adl_gpu_type gavel_types[GAVEL_TYPES] = {
    {.name = "k80",
     .vendor = "NVIDIA",
     .memory_mib = 12288,
     .bandwidth_gbs = 240,
     .fp32_tflops = 4.1,
     .fp16_tflops = 4.1,
     .fp64_tflops = 1.4},
    {.name = "p100",
     .vendor = "NVIDIA",
     .memory_mib = 16384,
     .bandwidth_gbs = 732,
     .fp32_tflops = 10.6,
     .fp16_tflops = 21.2,
     .fp64_tflops = 5.3},
    {.name = "v100",
     .vendor = "NVIDIA",
     .memory_mib = 16384,
     .bandwidth_gbs = 900,
     .fp32_tflops = 14.0,
     .fp16_tflops = 112,
     .fp64_tflops = 7.0},
};

static int gavel_type_of(const char *name)
{
    for (int t = 0; t < GAVEL_TYPES; t++)
        if (strcmp(name, gavel_types[t].name) == 0)
            return t;
    return -1;
}

int gavel_job_of(struct adl_lab *lab, const char *name)
{
    const uint32_t id = adl_job_name_id(name);
    for (uint32_t j = 0; j < lab->job_count; j++)
        if (lab->jobs[j].name_id == id)
            return (int)j;
    return -1;
}

static void gavel_add_job(struct adl_lab *lab, const char *name)
{
    const uint32_t j = lab->job_count++;
    const char *open = strchr(name, '('), *digits = open ? strpbrk(open, "0123456789") : NULL;
    const double batch = digits ? strtod(digits, NULL) : 1;
    lab->family[j] = GAVEL_FAMILIES;
    for (uint32_t f = 0; f < GAVEL_FAMILIES; f++)
        if (strncmp(name, gavel_families[f].name, strlen(gavel_families[f].name)) == 0)
            lab->family[j] = f;
    const struct gavel_family *family = &gavel_families[lab->family[j]];
    lab->jobs[j] = (struct adl_job_spec){.id = j + 1,
                                         .class_index = (uint16_t)j,
                                         .name_id = adl_job_name_id(name),
                                         .gpus = 1,
                                         .kind = ADL_KIND_TRAINING,
                                         .cpu_cores = family->cores,
                                         .gpu_memory_mib = family->memory_mib + (int)(family->memory_per_mib * batch),
                                         .step_gflop = (float)(6 * family->gmac * batch)};
    lab->spans[j] = false;
}

int gavel_cells(char *line, char **ret, int most)
{
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at && count < most; count++) {
        ret[count] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return count;
}

static void gavel_read_alone(FILE *file, struct adl_lab *lab)
{
    char line[512], *cells[16];
    while (fgets(line, sizeof line, file)) {
        if (gavel_cells(line, cells, 16) < 5 || strcmp(cells[1], "1") != 0 || lab->job_count == ADL_LAB_JOBS)
            continue;
        gavel_add_job(lab, cells[0]);
        for (int t = 0; t < GAVEL_TYPES; t++) {
            const double rate = strtod(cells[2 + t], NULL);
            lab->rate[lab->job_count - 1][t] = rate > 0 ? log(rate) : NAN;
        }
    }
}

static void gavel_read_pairs(FILE *file, struct adl_lab *lab)
{
    char line[512], *cells[16];
    while (fgets(line, sizeof line, file)) {
        if (gavel_cells(line, cells, 16) < 11 || strcmp(cells[2], "1") != 0 || strcmp(cells[4], "1") != 0)
            continue;
        const int t = gavel_type_of(cells[0]), a = gavel_job_of(lab, cells[1]), b = gavel_job_of(lab, cells[3]);
        const double of_a = strtod(cells[9], NULL), of_b = strtod(cells[10], NULL);
        if (t < 0 || a < 0 || b < 0)
            continue;
        if (of_a > 0 && of_a < 1)
            lab->share[a][b][t] = log(of_a);
        if (of_b > 0 && of_b < 1)
            lab->share[b][a][t] = log(of_b);
    }
}

bool gavel_load(struct adl_lab *ret)
{
    FILE *alone = fopen(GAVEL "_isolated.csv", "r"), *pairs = fopen(GAVEL "_pairs.csv", "r");
    memset(ret, 0, sizeof *ret);
    if (alone && pairs) {
        ret->type_count = GAVEL_TYPES;
        memcpy(ret->types, gavel_types, sizeof gavel_types);
        for (size_t i = 0; i < ADL_LAB_JOBS; i++)
            for (size_t j = 0; j < ADL_LAB_JOBS; j++)
                for (size_t t = 0; t < ADL_LAB_TYPES; t++)
                    ret->share[i][j][t] = NAN;
        gavel_read_alone(alone, ret);
        gavel_read_pairs(pairs, ret);
    }
    if (alone)
        fclose(alone);
    if (pairs)
        fclose(pairs);
    return ret->job_count > 0;
}

void gavel_without(const struct adl_lab *all, uint32_t families, struct adl_lab *ret)
{
    uint32_t from[ADL_LAB_JOBS], count = 0;
    *ret = *all;
    for (uint32_t j = 0; j < all->job_count; j++)
        if (!(families >> all->family[j] & 1))
            from[count++] = j;
    ret->job_count = count;
    for (uint32_t j = 0; j < count; j++) {
        ret->jobs[j] = all->jobs[from[j]];
        ret->family[j] = all->family[from[j]];
        memcpy(ret->rate[j], all->rate[from[j]], sizeof ret->rate[j]);
        for (uint32_t i = 0; i < count; i++)
            memcpy(ret->share[j][i], all->share[from[j]][from[i]], sizeof ret->share[j][i]);
    }
}
