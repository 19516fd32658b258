#include "predict/similar.h"

#include "base/hash.h"
#include "base/real.h"
#include "hdc/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_US      3.6e9
#define SEED         UINT64_C(0x73696d696c6172)
#define NEIGHBOURS   64
#define CANDIDATES   128
#define KERNEL_BITS  300.0 /* a neighbour farther than the nearest by this has 1/e of its weight */
#define SLOPE_WEIGHT 1.0   /* weight of the slope over all jobs, against the sum of w x^2 among neighbours */
#define GROUP_WEIGHT 60.0  /* neighbours that the life tables of a job's group weigh as much as */
#define LOG_LIMIT    34.0  /* of the logarithm of a time in us: 18 years */

/* Weights, spans and the constants above were chosen on the first third of the Chronus trace and on seeds 101 and 102
 * of campus512 (docs/hdc.md); bench/bench_hdc.c reports on the rest. */
static const struct adl_field fields[ADL_TRAIT_COUNT] = {
    [ADL_TRAIT_NAME] = {"name", ADL_FIELD_SYMBOL, 4, 0, 0},
    [ADL_TRAIT_CLASS] = {"class", ADL_FIELD_SYMBOL, 8, 0, 0},
    [ADL_TRAIT_USER] = {"user", ADL_FIELD_SYMBOL, 2, 0, 0},
    [ADL_TRAIT_GROUP] = {"group", ADL_FIELD_SYMBOL, 1, 0, 0},
    [ADL_TRAIT_KIND] = {"kind", ADL_FIELD_SYMBOL, 1, 0, 0},
    [ADL_TRAIT_FLAGS] = {"flags", ADL_FIELD_SYMBOL, 1, 0, 0},
    [ADL_TRAIT_TYPES] = {"types", ADL_FIELD_SYMBOL, 1, 0, 0},
    [ADL_TRAIT_GANG] = {"gang", ADL_FIELD_SYMBOL, 4, 0, 0},
    [ADL_TRAIT_GPUS] = {"gpus", ADL_FIELD_NUMBER, 2, 0, 8},
    [ADL_TRAIT_CORES] = {"cores", ADL_FIELD_NUMBER, 1, 0, 8},
    [ADL_TRAIT_MEMORY_MIB] = {"memory", ADL_FIELD_NUMBER, 1, 8, 22},
    [ADL_TRAIT_GPU_MEMORY_MIB] = {"gpu memory", ADL_FIELD_NUMBER, 1, 8, 18},
    [ADL_TRAIT_PRIORITY] = {"priority", ADL_FIELD_NUMBER, 1, 0, 1},
    [ADL_TRAIT_THROUGHPUT] = {"throughput", ADL_FIELD_NUMBER, 1, -10, 20},
    [ADL_TRAIT_LIMIT_US] = {"limit", ADL_FIELD_NUMBER, 12, 16, 29}, /* 9 s to 45 days */
    [ADL_TRAIT_DAYTIME_US] = {"time of day", ADL_FIELD_MOMENT, 1, 6, 4 * HOUR_US},
    [ADL_TRAIT_SUBMIT_US] = {"submission", ADL_FIELD_MOMENT, 4, 0, 24 * HOUR_US},
};

struct past {
    double log_us;
    double log_limit;
    bool has_limit;
    uint32_t class_index;
    uint32_t known;                   /* bit per trait */
    uint64_t traits[ADL_TRAIT_COUNT]; /* symbols, or the bits of numbers: to encode it again */
};

/* Sums over all jobs that had a limit, for the slope of log run time on log limit. */
struct moments {
    double count, x, y, xx, xy;
};

struct adl_similar {
    struct adl_encoder *encoder;
    struct adl_memory *memory;
    uint32_t capacity;
    struct past *past;             /* [place in memory] */
    struct adl_life_tables *lives; /* of jobs without a limit */
    struct moments moments;
};

static struct adl_value symbol(uint64_t value)
{
    return (struct adl_value){.known = true, .symbol = value};
}

static struct adl_value number(double value)
{
    return (struct adl_value){.known = true, .number = value};
}

/* Unknown if not positive. */
static struct adl_value log2_of(double value)
{
    return value > 0 ? number(adl_log(value) * 1.4426950408889634) : (struct adl_value){0};
}

void adl_traits_read(struct adl_traits *ret, const struct adl_job_spec *spec, int64_t submit_us)
{
    *ret = (struct adl_traits){0};
    struct adl_value *values = ret->values;
    values[ADL_TRAIT_CLASS] = symbol(spec->class_index);
    if (spec->name_id)
        values[ADL_TRAIT_NAME] = symbol(spec->name_id);
    values[ADL_TRAIT_USER] = symbol(spec->user);
    values[ADL_TRAIT_KIND] = symbol(spec->kind);
    values[ADL_TRAIT_FLAGS] = symbol(spec->flags);
    values[ADL_TRAIT_TYPES] = symbol(spec->types);
    values[ADL_TRAIT_GANG] = symbol(spec->gpus);
    values[ADL_TRAIT_GPUS] = log2_of(spec->gpus);
    values[ADL_TRAIT_CORES] = log2_of(spec->cpu_cores);
    values[ADL_TRAIT_MEMORY_MIB] = log2_of(spec->memory_mib);
    values[ADL_TRAIT_GPU_MEMORY_MIB] = log2_of(spec->gpu_memory_mib);
    values[ADL_TRAIT_PRIORITY] = number((double)spec->priority);
    values[ADL_TRAIT_THROUGHPUT] = log2_of((double)spec->min_steps_per_s);
    if (spec->limit_us > 0)
        values[ADL_TRAIT_LIMIT_US] = number(adl_log((double)spec->limit_us));
    if (submit_us >= 0)
        values[ADL_TRAIT_DAYTIME_US] = values[ADL_TRAIT_SUBMIT_US] = number((double)submit_us);
}

int adl_similar_create(uint32_t capacity, struct adl_similar **ret, struct adl_error *err)
{
    struct adl_similar *similar = calloc(1, sizeof *similar);
    if (!similar)
        return adl_fail(err, ADL_ENOMEM, "out of memory for past jobs");
    similar->capacity = capacity;
    int status = adl_memory_create(capacity, NULL, &similar->memory, err);
    if (status == 0)
        status = adl_encoder_create(fields, ADL_TRAIT_COUNT, SEED, NULL, &similar->encoder, err);
    if (status == 0 && !(similar->past = calloc(capacity, sizeof *similar->past)))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for %u past jobs", capacity);
    if (status == 0 && adl_life_tables_create(&similar->lives))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for life tables");
    if (status)
        adl_similar_destroy(similar);
    else
        *ret = similar;
    return status;
}

void adl_similar_destroy(struct adl_similar *similar)
{
    if (!similar)
        return;
    adl_encoder_destroy(similar->encoder);
    adl_memory_destroy(similar->memory);
    adl_life_tables_destroy(similar->lives);
    free(similar->past);
    free(similar);
}

void adl_similar_copy(struct adl_similar *to, const struct adl_similar *from)
{
    adl_memory_copy(to->memory, from->memory);
    memcpy(to->past, from->past, adl_memory_count(from->memory) * sizeof *to->past);
    to->moments = from->moments;
    adl_life_tables_copy(to->lives, from->lives);
}

static bool is_symbol(int trait)
{
    return fields[trait].kind == ADL_FIELD_SYMBOL;
}

static void remember(struct adl_similar *similar, const struct adl_traits *traits, double log_us, uint32_t class_index)
{
    const struct adl_value *limit = &traits->values[ADL_TRAIT_LIMIT_US];
    struct past past = {
        .log_us = log_us, .log_limit = limit->number, .has_limit = limit->known, .class_index = class_index};
    struct adl_hypervector vector;
    for (int t = 0; t < ADL_TRAIT_COUNT; t++) {
        const struct adl_value *value = &traits->values[t];
        past.known |= (uint32_t)value->known << t;
        memcpy(&past.traits[t], is_symbol(t) ? (const void *)&value->symbol : &value->number, sizeof past.traits[t]);
    }
    adl_encoder_encode(similar->encoder, traits->values, &vector);
    similar->past[adl_memory_add(similar->memory, &vector)] = past;
}

void adl_similar_learn(struct adl_similar *similar, const struct adl_traits *traits, int64_t run_us,
                       uint32_t class_index)
{
    const struct adl_value *limit = &traits->values[ADL_TRAIT_LIMIT_US];
    const double log_us = adl_log(run_us > 1 ? (double)run_us : 1.0);
    remember(similar, traits, log_us, class_index);
    if (limit->known) {
        struct moments *m = &similar->moments;
        m->count += 1.0;
        m->x += limit->number;
        m->y += log_us;
        m->xx += limit->number * limit->number;
        m->xy += limit->number * log_us;
    }
}

/* ---- how long jobs without a limit run ---- */

uint64_t adl_traits_owner(const struct adl_traits *traits)
{
    const struct adl_value *user = &traits->values[ADL_TRAIT_USER], *group = &traits->values[ADL_TRAIT_GROUP];
    const uint64_t owner = adl_hash_u64(adl_hash_start(), user->known ? user->symbol + 1 : 0);
    return adl_hash_u64(owner, group->known ? group->symbol + 1 : 0);
}

static struct adl_life_group group_of(const struct adl_traits *traits)
{
    return (struct adl_life_group){adl_traits_owner(traits), traits->values[ADL_TRAIT_GANG].symbol};
}

void adl_similar_age(struct adl_similar *similar, const struct adl_traits *traits, struct adl_life *life, double age_us)
{
    adl_life_tables_age(similar->lives, group_of(traits), life, age_us);
}

void adl_similar_end(struct adl_similar *similar, const struct adl_traits *traits, struct adl_life *life, double age_us)
{
    adl_life_tables_end(similar->lives, group_of(traits), life, age_us);
}

void adl_similar_enter(struct adl_similar *similar, const struct adl_traits *traits, struct adl_life *life,
                       double age_us)
{
    adl_life_tables_enter(similar->lives, group_of(traits), life, age_us);
}

struct adl_life_tables *adl_similar_life_tables(const struct adl_similar *similar)
{
    return similar->lives;
}

/* ---- predicting ---- */

static double overall_slope(const struct moments *m)
{
    if (m->count < 2.0)
        return 1.0;
    const double xx = m->xx - m->x * m->x / m->count, xy = m->xy - m->x * m->y / m->count;
    const double slope = (xy + 1.0) / (xx + 1.0);
    return slope < 0.0 ? 0.0 : slope > 1.0 ? 1.0 : slope;
}

struct vote {
    const struct past *past;
    double weight;
};

/* For a job with a limit: keeps the votes of jobs that have one. */
static uint32_t keep_limited(struct vote *votes, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (votes[i].past->has_limit)
            votes[kept++] = votes[i];
    return kept;
}

/* What the limit does not explain of a vote. */
struct residual {
    double off, weight;
};

static void sort_residuals(struct residual *residuals, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct residual item = residuals[i];
        uint32_t at = i;
        for (; at > 0 && residuals[at - 1].off > item.off; at--)
            residuals[at] = residuals[at - 1];
        residuals[at] = item;
    }
}

/* Weighted deciles, between the middles of the weights of two. */
static void find_deciles(struct residual *residuals, uint32_t count, double sum, double ret[9])
{
    double before = 0;
    uint32_t i = 0;
    assert(count > 0);
    sort_residuals(residuals, count);
    for (int d = 0; d < 9; d++) {
        const double level = sum * (d + 1) / 10;
        while (i < count && before + 0.5 * residuals[i].weight < level)
            before += residuals[i++].weight;
        if (i == 0 || i == count) {
            ret[d] = residuals[i == 0 ? 0 : count - 1].off;
            continue;
        }
        const double low = before - 0.5 * residuals[i - 1].weight, high = before + 0.5 * residuals[i].weight;
        const double step = residuals[i].off - residuals[i - 1].off;
        ret[d] = residuals[i - 1].off + step * (level - low) / (high - low);
    }
}

static void estimate(const struct vote *votes, uint32_t count, const double *log_limit, double prior_slope,
                     struct adl_similar_prediction *ret)
{
    struct residual residuals[NEIGHBOURS];
    double sum = 0, x = 0, y = 0, xx = 0, xy = 0, spread = 0, deciles[9];
    for (uint32_t i = 0; i < count; i++) {
        sum += votes[i].weight;
        x += votes[i].weight * votes[i].past->log_limit;
        y += votes[i].weight * votes[i].past->log_us;
    }
    x /= sum;
    y /= sum;
    for (uint32_t i = 0; i < count; i++) {
        const double dx = votes[i].past->log_limit - x;
        xx += votes[i].weight * dx * dx;
        xy += votes[i].weight * dx * (votes[i].past->log_us - y);
    }
    const double slope = log_limit ? (xy + SLOPE_WEIGHT * prior_slope) / (xx + SLOPE_WEIGHT) : 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const double off = votes[i].past->log_us - y - slope * (votes[i].past->log_limit - x);
        spread += votes[i].weight * off * off;
        residuals[i] = (struct residual){off, votes[i].weight};
    }
    find_deciles(residuals, count, sum, deciles);
    double log_us = y + (log_limit ? slope * (*log_limit - x) : 0.0) + deciles[4];
    log_us = log_us > 0 ? log_us < LOG_LIMIT ? log_us : LOG_LIMIT : 0;
    ret->run_us = (int64_t)adl_exp(log_us);
    ret->run_us += ret->run_us == 0;
    for (int d = 0; d < 9; d++)
        ret->deciles[d] = (float)(deciles[d] - deciles[4]);
    ret->spread = sqrt(spread / sum);
    ret->neighbours = count;
}

/* Deciles of ln(run time) of jobs that have these hazards. */
static void find_hazard_deciles(const double hazards[ADL_LIFE_BINS], double ret[9])
{
    double alive = 1;
    int d = 0;
    for (int i = 0; i < ADL_LIFE_BINS && d < 9; i++) {
        const double next = alive * (1 - hazards[i]);
        for (; d < 9 && next <= 1 - 0.1 * (d + 1); d++)
            ret[d] = adl_life_log(i + (alive - 1 + 0.1 * (d + 1)) / (alive - next));
        alive = next;
    }
    for (; d < 9; d++)
        ret[d] = adl_life_log(ADL_LIFE_BINS);
}

/* Neighbours are few and vary by chance, above all at the outer deciles: their hazards are shrunk to those of the job's
 * group, which weighs no more than what is known of it. */
static void shrink(const struct adl_similar *similar, const struct adl_traits *traits, const struct vote *votes,
                   uint32_t count, struct adl_similar_prediction *ret)
{
    double hazards[ADL_LIFE_BINS], deciles[9], sum = 0, squares = 0, ended[ADL_LIFE_BINS] = {0};
    float of_group[ADL_LIFE_BINS];
    const double known = adl_life_tables_begun(similar->lives), prior = GROUP_WEIGHT * known / (GROUP_WEIGHT + known);
    adl_life_tables_hazards(similar->lives, group_of(traits), of_group);
    for (uint32_t i = 0; i < count; i++) {
        sum += votes[i].weight;
        squares += votes[i].weight * votes[i].weight;
    }
    double alive = sum * sum / squares; /* as many jobs of equal weight as vary as much */
    for (uint32_t i = 0; i < count; i++) {
        const double place = adl_life_place(votes[i].past->log_us);
        ended[place < ADL_LIFE_BINS ? (int)place : ADL_LIFE_BINS - 1] += votes[i].weight * sum / squares;
    }
    for (int i = 0; i < ADL_LIFE_BINS; i++) {
        hazards[i] = (ended[i] + prior * (double)of_group[i]) / ((alive > ended[i] ? alive : ended[i]) + prior);
        alive -= ended[i];
    }
    find_hazard_deciles(hazards, deciles);
    for (int d = 0; d < 9; d++)
        ret->deciles[d] = (float)(deciles[d] - adl_log((double)ret->run_us));
}

static void vote_on_class(const struct vote *votes, uint32_t count, struct adl_similar_prediction *ret)
{
    struct {
        uint32_t class_index;
        double sum;
    } classes[NEIGHBOURS]; /* in order of their nearest votes */
    uint32_t known = 0;
    double all = 0, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = 0;
        while (c < known && classes[c].class_index != votes[i].past->class_index)
            c++;
        if (c == known) {
            classes[known].class_index = votes[i].past->class_index;
            classes[known++].sum = 0;
        }
        classes[c].sum += votes[i].weight;
        all += votes[i].weight;
    }
    ret->class_index = ADL_CLASS_UNKNOWN;
    for (uint32_t c = 0; c < known; c++)
        if (classes[c].class_index != ADL_CLASS_UNKNOWN && classes[c].sum > most) {
            most = classes[c].sum;
            ret->class_index = classes[c].class_index;
        }
    ret->class_share = all > 0 ? most / all : 0;
}

bool adl_similar_predict(struct adl_similar *similar, const struct adl_traits *traits,
                         struct adl_similar_prediction *ret)
{
    const struct adl_value *limit = &traits->values[ADL_TRAIT_LIMIT_US];
    struct adl_neighbour near[NEIGHBOURS];
    struct vote votes[NEIGHBOURS];
    struct adl_hypervector query;
    struct adl_similar_prediction prediction = {0};
    if (adl_memory_count(similar->memory) == 0)
        return false;
    adl_encoder_encode(similar->encoder, traits->values, &query);
    const uint32_t count = adl_memory_nearest_quickly(similar->memory, &query, CANDIDATES, NEIGHBOURS, near);
    for (uint32_t i = 0; i < count; i++)
        votes[i] = (struct vote){&similar->past[near[i].place],
                                 adl_exp(((double)near[0].distance - (double)near[i].distance) / KERNEL_BITS)};
    vote_on_class(votes, count, &prediction);
    const uint32_t limited = limit->known ? keep_limited(votes, count) : 0;
    estimate(votes, limited ? limited : count, limited ? &limit->number : NULL, overall_slope(&similar->moments),
             &prediction);
    if (!limit->known && adl_life_tables_begun(similar->lives) > 0)
        shrink(similar, traits, votes, count, &prediction);
    *ret = prediction;
    return true;
}

/* ---- bytes: names of traits, sums, then the jobs from the oldest on ---- */

#define TRAITS_READ 32   /* that bytes may have: as many as a mask has bits */
#define NUMBER_MOST 1e19 /* of a trait */

static void encode_job(const struct past *past, struct adl_text *ret)
{
    adl_pack_real(ret, past->log_us);
    adl_bytes_put_u32(ret, past->class_index);
    adl_bytes_put_u32(ret, past->known);
    for (int t = 0; t < ADL_TRAIT_COUNT; t++)
        if (past->known >> t & 1)
            adl_bytes_put_u64(ret, past->traits[t]);
}

void adl_similar_encode(const struct adl_similar *similar, struct adl_text *ret)
{
    const struct moments *m = &similar->moments;
    const double sums[] = {m->count, m->x, m->y, m->xx, m->xy};
    const uint32_t count = adl_memory_count(similar->memory), first = adl_memory_oldest(similar->memory);
    adl_bytes_put_u32(ret, ADL_TRAIT_COUNT);
    for (int t = 0; t < ADL_TRAIT_COUNT; t++) {
        adl_text_char(ret, (char)fields[t].kind);
        adl_pack_name(ret, fields[t].name);
    }
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        adl_pack_real(ret, sums[i]);
    adl_bytes_put_u32(ret, count);
    for (uint32_t i = 0; i < count; i++)
        encode_job(&similar->past[(first + i) % similar->capacity], ret);
}

/* Which of our traits each of theirs is, -1 = none. Returns how many there are. */
static uint32_t decode_names(struct adl_unpack *from, int ret[TRAITS_READ])
{
    const uint32_t count = adl_unpack_u32(from, TRAITS_READ);
    for (uint32_t i = 0; i < count; i++) {
        char name[ADL_NAME_SIZE];
        const uint8_t kind = adl_unpack_u8(from);
        adl_unpack_name(from, name, sizeof name);
        ret[i] = -1;
        for (int t = 0; t < ADL_TRAIT_COUNT; t++)
            if (fields[t].kind == kind && strcmp(fields[t].name, name) == 0)
                ret[i] = t;
    }
    return count;
}

static void decode_value(struct adl_unpack *from, int trait, struct adl_value *ret)
{
    if (trait < 0 || is_symbol(trait))
        *ret = symbol(adl_unpack_u64(from));
    else
        *ret = number(adl_unpack_real(from, fields[trait].kind == ADL_FIELD_MOMENT ? 0 : -NUMBER_MOST, NUMBER_MOST));
}

/* Numbers of the cluster and of the clock that it was learned on become those of this one, or unknown. False: it ran on
 * types that this cluster does not have. */
static bool translate(const struct adl_translation *to, struct adl_traits *traits, uint32_t *class_index)
{
    struct adl_value *values = traits->values, *class = &values[ADL_TRAIT_CLASS], *types = &values[ADL_TRAIT_TYPES];
    values[ADL_TRAIT_USER].known &= to->same_users;
    values[ADL_TRAIT_DAYTIME_US].known &= to->same_time;
    values[ADL_TRAIT_SUBMIT_US].known &= to->same_time;
    if (to->same)
        return true;
    *class_index = adl_translate_class(to, *class_index);
    class->symbol = adl_translate_class(to, (uint32_t) class->symbol);
    class->known &= class->symbol != ADL_NONE;
    types->symbol = adl_translate_types(to, (uint32_t)types->symbol);
    return !types->known || types->symbol != 0;
}

static void count_job(const struct adl_traits *traits, struct adl_similar_account *account)
{
    const struct adl_value *submit = &traits->values[ADL_TRAIT_SUBMIT_US];
    account->jobs++;
    if (!submit->known)
        return;
    account->first_us =
        account->first_us > 0 && account->first_us < submit->number ? account->first_us : submit->number;
    account->last_us = submit->number > account->last_us ? submit->number : account->last_us;
}

static void decode_job(struct adl_similar *similar, struct adl_unpack *from, const int *names, uint32_t traits_count,
                       const struct adl_translation *to, struct adl_similar_account *account)
{
    struct adl_traits traits = {0};
    const double log_us = adl_unpack_real(from, 0, LOG_LIMIT * 2);
    uint32_t class_index = adl_unpack_u32(from, UINT32_MAX);
    const uint32_t known = adl_unpack_u32(from, UINT32_MAX);
    from->failed |= traits_count < 32 && known >> traits_count;
    for (uint32_t i = 0; i < traits_count && !from->failed; i++) {
        struct adl_value value = {0};
        if (known >> i & 1)
            decode_value(from, names[i], &value);
        if (names[i] >= 0)
            traits.values[names[i]] = value;
    }
    if (from->failed)
        return;
    if (!translate(to, &traits, &class_index)) {
        account->skipped++;
        return;
    }
    remember(similar, &traits, log_us, class_index);
    count_job(&traits, account);
}

int adl_similar_decode(struct adl_similar *similar, struct adl_unpack *from, const struct adl_translation *to,
                       struct adl_similar_account *ret, struct adl_error *err)
{
    int names[TRAITS_READ] = {0};
    struct moments *m = &similar->moments;
    double *const sums[] = {&m->count, &m->x, &m->y, &m->xx, &m->xy};
    *ret = (struct adl_similar_account){0};
    const uint32_t traits = decode_names(from, names);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] = adl_unpack_real(from, 0, NUMBER_MOST);
    const uint32_t count = adl_unpack_u32(from, UINT32_MAX);
    if (from->failed)
        return adl_fail(err, ADL_EINVAL, "the names of the traits of its jobs, or their sums, are damaged");
    ret->learned = m->count;
    for (uint32_t i = 0; i < count; i++) {
        decode_job(similar, from, names, traits, to, ret);
        if (from->failed)
            return adl_fail(err, ADL_EINVAL, "remembered job %u of %u is damaged", i + 1, count);
    }
    ret->jobs = adl_memory_count(similar->memory);
    return 0;
}
