#include "zeus.h"

const struct adl_gpu_type zeus_types[ZEUS_GPUS] = {
    {.name = "v100", .idle_w = 30, .context_w = 36, .max_w = 250},
    {.name = "a40", .idle_w = 30, .context_w = 80, .max_w = 300},
    {.name = "rtx6000", .idle_w = 20, .context_w = 55, .max_w = 260},
    {.name = "p100", .idle_w = 30, .context_w = 33, .max_w = 250},
};

static int zeus_read_gpu(struct zeus *zeus, uint32_t gpu)
{
    char path[256], line[256], dataset[32], optimizer[16];
    int batch;
    snprintf(path, sizeof path, "%s/../shared/data/zeus/summary_power_%s.csv", ADL_SOURCE_DIR, zeus_types[gpu].name);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    while (zeus->count < ZEUS_ROWS && fgets(line, sizeof line, file)) {
        struct zeus_row row = {.gpu = gpu};
        if (sscanf(line, "%31[^,],%31[^,],%d,%15[^,],%lf,%lf,%lf", dataset, row.network, &batch, optimizer, &row.cap_w,
                   &row.epoch_s, &row.power_w) != 7)
            continue; /* the line of names */
        snprintf(row.setting, sizeof row.setting, "%s %s %d %s", dataset, row.network, batch, optimizer);
        zeus->rows[zeus->count++] = row;
    }
    fclose(file);
    return 0;
}

bool zeus_read(struct zeus *ret)
{
    ret->count = 0;
    for (uint32_t gpu = 0; gpu < ZEUS_GPUS; gpu++)
        if (zeus_read_gpu(ret, gpu))
            return false;
    for (size_t i = 0; i < ret->count; i++) {
        ret->rows[i].top = (uint32_t)i;
        for (size_t j = 0; j < ret->count; j++)
            if (ret->rows[j].gpu == ret->rows[i].gpu && strcmp(ret->rows[j].setting, ret->rows[i].setting) == 0 &&
                ret->rows[j].cap_w > ret->rows[ret->rows[i].top].cap_w)
                ret->rows[i].top = (uint32_t)j;
    }
    return true;
}
