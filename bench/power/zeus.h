/* zeus: Zeus's measurements of power caps, read from ../shared/data/zeus, for benches. */
#ifndef ADLRO_BENCH_ZEUS_H
#define ADLRO_BENCH_ZEUS_H

#include "model/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZEUS_GPUS    4
#define ZEUS_ROWS    2048
#define ZEUS_SETTING 96

/* Figures as in scenarios/catalogue.yaml. */
extern const struct adl_gpu_type zeus_types[ZEUS_GPUS];

/* One setting (dataset, network, batch size, optimizer) under one power limit. */
struct zeus_row {
    char setting[ZEUS_SETTING];
    char network[32];
    uint32_t gpu; /* index into zeus_types */
    double cap_w, epoch_s, power_w;
    uint32_t top; /* the row of the same setting and GPU with the highest limit: as good as uncapped */
};

struct zeus {
    struct zeus_row rows[ZEUS_ROWS];
    size_t count;
};

/* False if the data is not there. */
bool zeus_read(struct zeus *ret);

#endif
