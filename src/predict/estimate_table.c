#include "predict/estimate_table.h"

#include "base/copy.h"
#include "base/hash.h"
#include "base/real.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED UINT64_C(0x70726f66696c65)
enum { UNRELATED = ADL_HYPER_BITS / 2 };
#define LOG2        0.6931471805599453
#define LOG_1000    6.907755278982137
#define OTHER_TYPE  0.3    /* weight of shares on other types in a type's effects */
#define RECENT      0.15   /* least weight of the newest measurement */
#define VARIANCE    0.0025 /* of a measurement, before there are two: 5 % */
#define STEP_HOST_S 0.005  /* nominal host time of a step, on any GPU */

enum { FAMILY, KIND, SPANS, GPUS, MEMORY, CORES, LEAST, GFLOP, GB, INTENSITY, FIELD_COUNT };

static const struct adl_field fields[FIELD_COUNT] = {
    [FAMILY] = {"class or name", ADL_FIELD_SYMBOL, 6, 0, 0},
    [KIND] = {"kind", ADL_FIELD_SYMBOL, 3, 0, 0},
    [SPANS] = {"spans", ADL_FIELD_SYMBOL, 1, 0, 0},
    [GPUS] = {"gpus", ADL_FIELD_NUMBER, 2, 0, 6},
    [MEMORY] = {"gpu memory", ADL_FIELD_NUMBER, 2, 6, 12},
    [CORES] = {"cores", ADL_FIELD_NUMBER, 1, 0, 5},
    [LEAST] = {"throughput", ADL_FIELD_NUMBER, 1, -4, 8},
    [GFLOP] = {"gflop", ADL_FIELD_NUMBER, 4, -2, 10},
    [GB] = {"gb", ADL_FIELD_NUMBER, 2, -4, 6},
    [INTENSITY] = {"flop/byte", ADL_FIELD_NUMBER, 2, 0, 7},
};

int adl_estimate_table_create(uint32_t capacity, struct adl_estimate_table **ret, struct adl_error *err)
{
    if (capacity < 1 || capacity > ADL_PROFILES_MAX)
        return adl_fail(err, ADL_EINVAL, "estimates: there can be 1 to %d profiles, not %u", ADL_PROFILES_MAX,
                        capacity);
    struct adl_estimate_table *k = calloc(1, sizeof *k);
    if (!k)
        return adl_fail(err, ADL_ENOMEM, "out of memory for estimates");
    k->capacity = capacity;
    k->ops = adl_hyper_ops_best();
    k->profiles = calloc(capacity, sizeof *k->profiles);
    k->vectors = calloc(capacity, sizeof *k->vectors);
    k->likeness = calloc((size_t)capacity * capacity, sizeof *k->likeness);
    int status = adl_encoder_create(fields, FIELD_COUNT, SEED, NULL, &k->encoder, err);
    if (!status && (!k->profiles || !k->vectors || !k->likeness))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for estimates of %u profiles", capacity);
    if (status)
        adl_estimate_table_destroy(k);
    else
        *ret = k;
    return status;
}

static void free_cells(struct adl_estimate_table *k)
{
    free(k->cells);
    free(k->initial);
    free(k->rates);
    free(k->as_victim);
    free(k->as_neighbour);
    free(k->nominals);
    free(k->duties);
    free(k->effects);
    k->cells = NULL;
    k->initial = k->rates = NULL;
    k->as_victim = k->as_neighbour = NULL;
    k->nominals = NULL;
    k->duties = NULL;
    k->effects = NULL;
}

void adl_estimate_table_destroy(struct adl_estimate_table *table)
{
    if (!table)
        return;
    free_cells(table);
    adl_encoder_destroy(table->encoder);
    free(table->profiles);
    free(table->vectors);
    free(table->likeness);
    free(table);
}

void adl_estimate_table_copy(struct adl_estimate_table *to, const struct adl_estimate_table *from)
{
    const struct adl_estimate_table own = *to;
    const size_t capacity = from->capacity, rows = capacity * from->type_count;
    assert(own.capacity == capacity && own.type_count == from->type_count);
    *to = *from;
    to->encoder = own.encoder;
    ADL_COPY_ARRAY(to, own, from, profiles, capacity);
    ADL_COPY_ARRAY(to, own, from, vectors, capacity);
    ADL_COPY_ARRAY(to, own, from, likeness, capacity * capacity);
    ADL_COPY_ARRAY(to, own, from, cells, rows * (capacity + 1));
    ADL_COPY_ARRAY(to, own, from, initial, rows);
    ADL_COPY_ARRAY(to, own, from, rates, rows);
    ADL_COPY_ARRAY(to, own, from, as_victim, rows);
    ADL_COPY_ARRAY(to, own, from, as_neighbour, rows);
    ADL_COPY_ARRAY(to, own, from, nominals, rows);
    ADL_COPY_ARRAY(to, own, from, duties, rows);
    ADL_COPY_ARRAY(to, own, from, effects, from->type_count);
}

static double log_of(double value, double fallback)
{
    return adl_log(value > 0 ? value : fallback);
}

static void read_type(const struct adl_gpu_type *type, struct adl_type_traits *ret)
{
    const double fp32 = type->fp32_tflops > 0 ? type->fp32_tflops : 10.0;
    const double fp16 = type->fp16_tflops > fp32 ? type->fp16_tflops : fp32;
    *ret = (struct adl_type_traits){.log_fp32 = adl_log(fp32),
                                    .log_matrix = adl_log(fp16 / 4 > fp32 ? fp16 / 4 : fp32),
                                    .log_fp64 = log_of(type->fp64_tflops, fp32 / 32),
                                    .log_bandwidth = log_of(type->bandwidth_gbs, 50 * fp32),
                                    .log_memory = log_of(type->memory_mib, 16384),
                                    .log_fp16_gain = adl_log(fp16 / fp32),
                                    .memory_mib = type->memory_mib,
                                    .nvidia =
                                        strncmp(type->vendor, "AMD", 3) != 0 && strncmp(type->vendor, "amd", 3) != 0};
}

int adl_estimate_table_set_types(struct adl_estimate_table *table, const struct adl_gpu_type *types, uint32_t count,
                                 struct adl_error *err)
{
    struct adl_estimate_table *k = table;
    const size_t rows = (size_t)k->capacity * count;
    assert(count <= ADL_TYPES_MAX);
    if (count != k->type_count || !k->cells) {
        free_cells(k);
        k->cells = calloc(rows * (k->capacity + 1) + 1, sizeof *k->cells);
        k->initial = calloc(rows + 1, sizeof *k->initial);
        k->rates = calloc(rows + 1, sizeof *k->rates);
        k->as_victim = calloc(rows + 1, sizeof *k->as_victim);
        k->as_neighbour = calloc(rows + 1, sizeof *k->as_neighbour);
        k->nominals = calloc(rows + 1, sizeof *k->nominals);
        k->duties = calloc(rows + 1, sizeof *k->duties);
        k->effects = calloc(count + 1u, sizeof *k->effects);
        if (!k->cells || !k->initial || !k->rates || !k->as_victim || !k->as_neighbour || !k->nominals || !k->duties ||
            !k->effects)
            return adl_fail(err, ADL_ENOMEM, "out of memory for estimates of %u profiles on %u types", k->capacity,
                            count);
    }
    k->type_count = count;
    for (uint32_t t = 0; t < count; t++)
        read_type(&types[t], &k->types[t]);
    adl_estimate_table_clear(k);
    return 0;
}

void adl_estimate_table_clear(struct adl_estimate_table *table)
{
    struct adl_estimate_table *k = table;
    const size_t rows = (size_t)k->capacity * k->type_count;
    k->clock = 0;
    memset(k->profiles, 0, k->capacity * sizeof *k->profiles);
    memset(k->cells, 0, rows * (k->capacity + 1) * sizeof *k->cells);
    memset(k->as_victim, 0, rows * sizeof *k->as_victim);
    memset(k->as_neighbour, 0, rows * sizeof *k->as_neighbour);
    memset(k->all_shares, 0, sizeof k->all_shares);
    memset(k->effects, 0, k->type_count * sizeof *k->effects);
}

/* ---- time by specification ---- */

static void compute_nominal(const struct adl_profile *profile, const struct adl_type_traits *type,
                            struct adl_nominal *ret)
{
    /* Defaults for an unspecified step: 1.5 TFLOP and 25 GB at these efficiencies take 0.1 s each on a 15 TFLOP/s,
     * 900 GB/s card, halved because both are unlikely to be as large at once. */
    const bool learns = profile->kind == ADL_KIND_TRAINING || profile->kind == ADL_KIND_INFERENCE;
    const double per_byte = profile->kind == ADL_KIND_DATA ? 4.0 : learns ? 40.0 : 15.0;
    double gflop = adl_exp(profile->log_gflop), gb = adl_exp(profile->log_gb);
    if (!profile->knows_gflop)
        gflop = profile->knows_gb ? gb * per_byte : 250.0;
    if (!profile->knows_gb)
        gb = gflop / per_byte;
    const double compute = gflop / (300.0 * adl_exp(learns ? type->log_matrix : type->log_fp32));
    const double memory = gb / (0.6 * adl_exp(type->log_bandwidth));
    const double all = compute + memory + STEP_HOST_S;
    *ret = (struct adl_nominal){compute / all, memory / all, STEP_HOST_S / all, profile->log_gpus - adl_log(all)};
    if (!profile->knows_gflop && !profile->knows_gb && profile->knows_least) {
        /* Only the required throughput gives a scale: a 14 TFLOP/s, 900 GB/s card just meets it. */
        const double there = 250.0 / (300.0 * 14.0) + 250.0 / per_byte / (0.6 * 900.0) + STEP_HOST_S;
        ret->log_rate += profile->log_least + 0.4 - (profile->log_gpus - adl_log(there));
    }
}

/* ---- profiles ---- */

static struct adl_value number(bool known, double value)
{
    return (struct adl_value){.known = known, .number = value};
}

static void read_profile(const struct adl_job_spec *spec, bool spans, struct adl_profile *ret)
{
    *ret = (struct adl_profile){
        .family = spec->name_id ? spec->name_id : (uint32_t)spec->class_index,
        .name_id = spec->name_id,
        .class_index = spec->class_index,
        .gpus = spec->gpus,
        .kind = spec->kind < ADL_KIND_COUNT ? spec->kind : 0,
        .spans = spans,
        .knows_gflop = spec->step_gflop > 0,
        .knows_gb = spec->step_gb > 0,
        .knows_least = spec->min_steps_per_s > 0,
        .gpu_memory_mib = spec->gpu_memory_mib,
        .log_gpus = log_of(spec->gpus, 1),
        .log_memory = log_of(spec->gpu_memory_mib, 4096),
        .log_cores = log_of(spec->cpu_cores, 4),
        .log_gflop = log_of((double)spec->step_gflop, 1),
        .log_gb = log_of((double)spec->step_gb, 1),
        .log_least = log_of((double)spec->min_steps_per_s, 1),
    };
}

static void encode_profile(struct adl_estimate_table *k, uint32_t index)
{
    const struct adl_profile *p = &k->profiles[index];
    const struct adl_value values[FIELD_COUNT] = {
        [FAMILY] = {.known = true, .symbol = p->family},
        [KIND] = {.known = true, .symbol = p->kind},
        [SPANS] = {.known = true, .symbol = p->spans},
        [GPUS] = number(true, p->log_gpus / LOG2),
        [MEMORY] = number(p->gpu_memory_mib > 0, p->log_memory),
        [CORES] = number(true, p->log_cores),
        [LEAST] = number(p->knows_least, p->log_least),
        [GFLOP] = number(p->knows_gflop, p->log_gflop),
        [GB] = number(p->knows_gb, p->log_gb),
        [INTENSITY] = number(p->knows_gb && p->knows_gflop, p->log_gflop - p->log_gb),
    };
    adl_encoder_encode(k->encoder, values, &k->vectors[index]);
}

/* The most similar profiles, nearest first; ties by index. */
static void find_near(struct adl_estimate_table *k, uint32_t index)
{
    struct adl_profile *p = &k->profiles[index];
    p->near_count = 0;
    for (uint32_t i = 0; i < k->capacity; i++) {
        if (i == index || k->profiles[i].key == 0)
            continue;
        const double likeness = adl_estimate_table_likeness(k, index, i);
        uint32_t at = p->near_count;
        while (at > 0 && adl_estimate_table_likeness(k, index, p->near[at - 1]) < likeness)
            at--;
        if (at == ADL_PROFILE_NEIGHBOURS)
            continue;
        p->near_count += p->near_count < ADL_PROFILE_NEIGHBOURS;
        for (uint32_t j = p->near_count - 1; j > at; j--)
            p->near[j] = p->near[j - 1];
        p->near[at] = i;
    }
}

static void compare_profiles(struct adl_estimate_table *k, uint32_t index)
{
    for (uint32_t i = 0; i < k->capacity; i++) {
        if (k->profiles[i].key == 0)
            continue;
        const uint32_t distance = adl_hypervector_distance(k->ops, &k->vectors[index], &k->vectors[i]);
        const float likeness = distance < UNRELATED ? 1.0f - (float)distance / (float)UNRELATED : 0.0f;
        k->likeness[(size_t)index * k->capacity + i] = k->likeness[(size_t)i * k->capacity + index] = likeness;
    }
    for (uint32_t i = 0; i < k->capacity; i++)
        if (k->profiles[i].key != 0)
            find_near(k, i);
}

static void add_share(struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour, double share,
                      double count)
{
    struct adl_sum *const sums[] = {&k->as_victim[adl_estimate_table_at(k, profile, type)],
                                    &k->as_neighbour[adl_estimate_table_at(k, neighbour, type)], &k->all_shares[type]};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        sums[i]->sum = sums[i]->count + count > 0 ? sums[i]->sum + share : 0;
        sums[i]->count += count;
    }
    k->effects[type].fresh = false;
}

static void forget_cell(struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour)
{
    struct adl_cell *cell = adl_estimate_table_cell(k, profile, type, neighbour);
    if (cell->count > 0 && neighbour != ADL_NONE) {
        add_share(k, profile, type, neighbour, -(double)cell->share, -1);
        k->profiles[profile].measured_beside--;
    }
    *cell = (struct adl_cell){0};
}

static void forget_profile(struct adl_estimate_table *k, uint32_t index)
{
    for (uint32_t t = 0; t < k->type_count; t++) {
        for (uint32_t i = 0; i < k->capacity; i++) {
            forget_cell(k, index, t, i);
            forget_cell(k, i, t, index);
        }
        forget_cell(k, index, t, ADL_NONE);
    }
    k->profiles[index].key = 0;
}

/* A free index, or that of the least recently used profile. */
static uint32_t take_slot(struct adl_estimate_table *k)
{
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < k->capacity; i++) {
        if (k->profiles[i].key == 0)
            return i;
        if (k->profiles[i].last_used < k->profiles[oldest].last_used)
            oldest = i;
    }
    forget_profile(k, oldest);
    return oldest;
}

static uint64_t key_of(uint32_t class_index, uint32_t name_id, uint32_t gpus, bool spans)
{
    const uint64_t key = adl_hash_u64(adl_hash_start(), (uint64_t)class_index << 32 | name_id);
    return adl_hash_u64(key, (uint64_t)gpus << 1 | spans) | 1;
}

static void complete_profile(struct adl_estimate_table *k, uint32_t index)
{
    for (uint32_t t = 0; t < k->type_count; t++)
        compute_nominal(&k->profiles[index], &k->types[t], &k->nominals[adl_estimate_table_at(k, index, t)]);
    encode_profile(k, index);
    compare_profiles(k, index);
}

bool adl_estimate_table_restore(struct adl_estimate_table *table, uint32_t index, const struct adl_profile *profile)
{
    struct adl_estimate_table *k = table;
    const uint64_t key = key_of(profile->class_index, profile->name_id, profile->gpus, profile->spans);
    for (uint32_t i = 0; i < k->capacity; i++)
        if (k->profiles[i].key == key)
            return false;
    k->profiles[index] = *profile;
    k->profiles[index].key = key;
    complete_profile(k, index);
    return true;
}

uint32_t adl_estimate_table_profile(struct adl_estimate_table *table, const struct adl_job_spec *spec, bool spans,
                                    bool *ret_new)
{
    struct adl_estimate_table *k = table;
    const uint64_t key = key_of(spec->class_index, spec->name_id, spec->gpus, spans);
    *ret_new = false;
    for (uint32_t i = 0; i < k->capacity; i++)
        if (k->profiles[i].key == key) {
            k->profiles[i].last_used = ++k->clock;
            return i;
        }
    const uint32_t index = take_slot(k);
    read_profile(spec, spans, &k->profiles[index]);
    k->profiles[index].key = key;
    k->profiles[index].last_used = ++k->clock;
    complete_profile(k, index);
    *ret_new = true;
    return index;
}

/* ---- measurements ---- */

bool adl_estimate_table_measure(struct adl_estimate_table *table, uint32_t profile, uint32_t type, uint32_t neighbour,
                                double log_rate)
{
    struct adl_estimate_table *k = table;
    struct adl_cell *cell = adl_estimate_table_cell(k, profile, type, neighbour);
    const bool is_new = cell->count == 0;
    k->profiles[profile].last_used = ++k->clock;
    if (neighbour != ADL_NONE)
        k->profiles[neighbour].last_used = k->clock;
    cell->count += cell->count < UINT32_MAX;
    if (is_new) {
        cell->log_rate = (float)log_rate;
        cell->variance = (float)VARIANCE;
        if (neighbour == ADL_NONE)
            k->profiles[profile].measured_alone++;
        else
            k->profiles[profile].measured_beside++;
    } else {
        const double part = 1.0 / cell->count > RECENT ? 1.0 / cell->count : RECENT;
        const double off = log_rate - (double)cell->log_rate;
        cell->log_rate = (float)((double)cell->log_rate + part * off);
        cell->variance = (float)((1 - part) * ((double)cell->variance + part * off * off));
    }
    if (neighbour != ADL_NONE) {
        const double share = (double)cell->log_rate - (double)k->rates[adl_estimate_table_at(k, profile, type)].mean;
        add_share(k, profile, type, neighbour, share - (is_new ? 0.0 : (double)cell->share), is_new);
        cell->share = (float)share;
    }
    return is_new;
}

/* ---- derived from specifications and estimates ---- */

/* Slope of the estimated log rate over log compute rate, across types: 0 = the GPU does not matter. */
static double slope_of(const struct adl_estimate_table *table, uint32_t profile)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    const double n = table->type_count;
    for (uint32_t t = 0; t < table->type_count; t++) {
        const double u = table->types[t].log_fp32;
        const double v = (double)table->rates[adl_estimate_table_at(table, profile, t)].mean;
        x += u;
        y += v;
        xx += u * u;
        xy += u * v;
    }
    const double spread = xx - x * x / n;
    return (xy - x * y / n + 0.16) / (spread + 0.2); /* shrunk towards 0.8, as if one more pair of types had that */
}

static void compute_duty(const struct adl_estimate_table *table, uint32_t profile, uint32_t type, double slope,
                         float ret[ADL_DUTY_FEATURES])
{
    const struct adl_profile *p = &table->profiles[profile];
    const struct adl_type_traits *t = &table->types[type];
    const struct adl_prediction *rate = &table->rates[adl_estimate_table_at(table, profile, type)];
    const double steps = (double)rate->mean - p->log_gpus; /* of one GPU */
    ret[0] = p->knows_gflop;
    ret[ADL_DUTY_COMPUTE] =
        p->knows_gflop ? adl_clip((steps + p->log_gflop - t->log_fp32 - LOG_1000 + 1.5) / 1.5, 3) : 0;
    ret[2] = p->knows_gb;
    ret[3] = p->knows_gb ? adl_clip((steps + p->log_gb - t->log_bandwidth + 1.0) / 1.5, 3) : 0;
    ret[ADL_DUTY_SLOPE] = adl_clip(slope - 0.8, 3);
    ret[5] = (float)adl_estimate_table_nominal(table, profile, type)->host;
    ret[6] = adl_clip(p->log_memory - t->log_memory + 1.0, 3);
    ret[7] = p->kind == ADL_KIND_TRAINING;
    ret[8] = p->kind == ADL_KIND_INFERENCE;
    ret[ADL_DUTY_STEP] = adl_clip((-steps - 2.0 + 3.0) / 2.0, 3);
    ret[10] = adl_clip((double)rate->spread, 3);
}

static void update_shares(struct adl_estimate_table *k, uint32_t profile)
{
    for (uint32_t i = 0; i < k->capacity && k->profiles[profile].measured_beside > 0; i++)
        for (uint32_t t = 0; t < k->type_count; t++) {
            struct adl_cell *cell = adl_estimate_table_cell(k, profile, t, i);
            if (cell->count == 0)
                continue;
            const float share = cell->log_rate - k->rates[adl_estimate_table_at(k, profile, t)].mean;
            add_share(k, profile, t, i, (double)share - (double)cell->share, 0);
            cell->share = share;
        }
}

void adl_estimate_table_update_rates(struct adl_estimate_table *table, uint32_t profile)
{
    struct adl_estimate_table *k = table;
    const double slope = slope_of(k, profile);
    for (uint32_t t = 0; t < k->type_count; t++) {
        const size_t at = adl_estimate_table_at(k, profile, t);
        compute_duty(k, profile, t, slope, k->duties[at].features);
        if (k->as_victim[at].count > 0 || k->as_neighbour[at].count > 0)
            k->effects[t].fresh = false;
    }
    update_shares(k, profile);
}

/* ---- effects ---- */

void adl_estimate_table_effect_terms(const struct adl_estimate_table *table, uint32_t profile, uint32_t type,
                                     double ret[ADL_EFFECT_TERMS])
{
    const float *duty = adl_estimate_table_duty(table, profile, type);
    ret[0] = 1;
    ret[1] = (double)duty[ADL_DUTY_STEP];
    ret[2] = (double)duty[ADL_DUTY_COMPUTE];
}

/* Adds a profile's shares on a type, weighted by part. */
static void add_effect(const struct adl_estimate_table *k, int side, uint32_t profile, uint32_t type, double part,
                       double square[ADL_EFFECT_TERMS][ADL_EFFECT_TERMS], double *moment, double *weight)
{
    const struct adl_sum *sum = &(side ? k->as_neighbour : k->as_victim)[adl_estimate_table_at(k, profile, type)];
    const struct adl_sum *all = &k->all_shares[type];
    double x[ADL_EFFECT_TERMS];
    if (sum->count < 0.5 || all->count < 0.5)
        return;
    const double w = part * sum->count / (sum->count + 1.0), y = sum->sum / sum->count - all->sum / all->count;
    adl_estimate_table_effect_terms(k, profile, type, x);
    for (int i = 0; i < ADL_EFFECT_TERMS; i++) {
        for (int j = 0; j < ADL_EFFECT_TERMS; j++)
            square[i][j] += w * x[i] * x[j];
        moment[i] += w * x[i] * y;
    }
    *weight += w;
}

static void refresh_effects(const struct adl_estimate_table *k, uint32_t type)
{
    struct adl_effects *effects = &k->effects[type];
    if (effects->fresh)
        return;
    *effects = (struct adl_effects){.fresh = true};
    for (int side = 0; side < 2; side++)
        for (uint32_t p = 0; p < k->capacity; p++)
            if (k->profiles[p].key != 0)
                add_effect(k, side, p, type, 1.0, effects->sides[side].square, effects->sides[side].moment,
                           &effects->sides[side].weight);
}

/* Solves a x = b, a symmetric positive definite; the solution replaces b. */
static void solve(double a[ADL_EFFECT_TERMS][ADL_EFFECT_TERMS], double *b)
{
    for (int i = 0; i < ADL_EFFECT_TERMS; i++)
        for (int j = i + 1; j < ADL_EFFECT_TERMS; j++) {
            const double part = a[j][i] / a[i][i];
            for (int c = i; c < ADL_EFFECT_TERMS; c++)
                a[j][c] -= part * a[i][c];
            b[j] -= part * b[i];
        }
    for (int i = ADL_EFFECT_TERMS - 1; i >= 0; i--) {
        for (int c = i + 1; c < ADL_EFFECT_TERMS; c++)
            b[i] -= a[i][c] * b[c];
        b[i] /= a[i][i];
    }
}

void adl_estimate_table_fit_effect(const struct adl_estimate_table *table, int side, uint32_t type, uint32_t left_out,
                                   double ret_slopes[ADL_EFFECT_TERMS], double *ret_weight)
{
    const struct adl_estimate_table *k = table;
    double square[ADL_EFFECT_TERMS][ADL_EFFECT_TERMS] = {
        {1, 0, 0}, {0, 2, 0}, {0, 0, 2}}; /* ridge: shrinks towards no effect */
    double moment[ADL_EFFECT_TERMS] = {0}, weight = 0;
    for (uint32_t t = 0; t < k->type_count; t++) {
        const double part = t == type ? 1.0 : OTHER_TYPE;
        refresh_effects(k, t);
        for (int i = 0; i < ADL_EFFECT_TERMS; i++) {
            for (int j = 0; j < ADL_EFFECT_TERMS; j++)
                square[i][j] += part * k->effects[t].sides[side].square[i][j];
            moment[i] += part * k->effects[t].sides[side].moment[i];
        }
        weight += part * k->effects[t].sides[side].weight;
        add_effect(k, side, left_out, t, -part, square, moment, &weight);
    }
    solve(square, moment);
    for (int i = 0; i < ADL_EFFECT_TERMS; i++)
        ret_slopes[i] = moment[i];
    *ret_weight = weight;
}
