#include "predict/life_tables.h"

#include "base/hash.h"
#include "base/real.h"

#include <stdlib.h>

#define BINS       ADL_LIFE_BINS
#define FIRST_LOG  13.0 /* of a time in us: 0.44 s; all below is one bin ... */
#define WIDTH      0.15 /* ... and the last one begins after two and a half years */
#define SETS       256  /* of groups */
#define WAYS       4    /* groups of a set */
#define FIRST_RISK 0.5f /* hazard of a bin of which nothing is known */
#define WEIGHT_MAX 1e9f /* of a bin */

/* Chosen on the first halves of Philly and of Chronus without deadlines (docs/belief.md). */
static const struct {
    float kept;  /* of all counts, when another job of the table has ended */
    float prior; /* jobs that the table before this one weighs as much as */
} levels[] = {{1 - 1.0f / 2000, 0.5f}, {1 - 1.0f / 1000, 20}, {1 - 1.0f / 300, 10}};

#define LEVELS (sizeof levels / sizeof *levels)

struct table {
    float reached[BINS], ended[BINS];
};

struct adl_life_tables {
    struct table all;
    uint64_t keys[SETS * WAYS]; /* 0 = no group */
    struct table groups[SETS * WAYS];
};

int adl_life_tables_create(struct adl_life_tables **ret)
{
    return (*ret = calloc(1, sizeof **ret)) ? 0 : ADL_ENOMEM;
}

void adl_life_tables_destroy(struct adl_life_tables *tables)
{
    free(tables);
}

double adl_life_place(double log_us)
{
    const double place = (log_us - FIRST_LOG) / WIDTH;
    return !(place > 0) ? 0 : place < BINS ? place : BINS;
}

double adl_life_log(double place)
{
    return FIRST_LOG + WIDTH * place;
}

static int bin_of(double age_us)
{
    const double place = adl_life_place(age_us > 1 ? adl_log(age_us) : 0);
    return place < BINS ? (int)place : BINS - 1;
}

/* ---- the tables of a group ---- */

static uint64_t key_of(struct adl_life_group group, size_t level)
{
    const uint64_t key =
        adl_hash_u64(adl_hash_u64(adl_hash_start(), group.owner), level == 1 ? UINT64_MAX : group.gang);
    return key + (key == 0);
}

static uint32_t find_place(const struct adl_life_tables *tables, uint64_t key)
{
    const uint32_t first = (uint32_t)(key % SETS) * WAYS;
    uint32_t least = first;
    for (uint32_t i = first; i < first + WAYS; i++) {
        if (tables->keys[i] == key)
            return i;
        if (tables->groups[i].reached[0] < tables->groups[least].reached[0])
            least = i;
    }
    return least;
}

static struct table *take_table(struct adl_life_tables *tables, struct adl_life_group group, size_t level)
{
    if (level == 0)
        return &tables->all;
    const uint64_t key = key_of(group, level);
    const uint32_t place = find_place(tables, key);
    if (tables->keys[place] != key) {
        tables->keys[place] = key;
        tables->groups[place] = (struct table){{0}, {0}};
    }
    return &tables->groups[place];
}

/* NULL: nothing is known of the group. */
static const struct table *find_table(const struct adl_life_tables *tables, struct adl_life_group group, size_t level)
{
    if (level == 0)
        return &tables->all;
    const uint64_t key = key_of(group, level);
    const uint32_t place = find_place(tables, key);
    return tables->keys[place] == key ? &tables->groups[place] : NULL;
}

/* ---- learning ---- */

void adl_life_tables_age(struct adl_life_tables *tables, struct adl_life_group group, uint8_t *reached, double age_us)
{
    const int bins = bin_of(age_us) + 1;
    if (bins <= *reached)
        return;
    for (size_t l = 0; l < LEVELS; l++) {
        struct table *table = take_table(tables, group, l);
        for (int i = *reached; i < bins; i++)
            table->reached[i] += 1;
    }
    *reached = (uint8_t)bins;
}

uint8_t adl_life_tables_reached(double age_us)
{
    return age_us > 0 ? (uint8_t)(bin_of(age_us) + 1) : 0;
}

void adl_life_tables_end(struct adl_life_tables *tables, struct adl_life_group group, uint8_t reached, double age_us)
{
    const int bin = bin_of(age_us);
    adl_life_tables_age(tables, group, &reached, age_us);
    for (size_t l = 0; l < LEVELS; l++) {
        struct table *table = take_table(tables, group, l);
        table->ended[bin] += 1;
        for (int i = 0; i < BINS; i++) {
            table->ended[i] *= levels[l].kept;
            table->reached[i] *= levels[l].kept;
        }
    }
}

/* ---- reading ---- */

double adl_life_tables_weight(const struct adl_life_tables *tables)
{
    double sum = 0;
    for (int i = 0; i < BINS; i++)
        sum += (double)tables->all.ended[i];
    return sum;
}

void adl_life_tables_hazards(const struct adl_life_tables *tables, struct adl_life_group group, float ret[BINS])
{
    for (int i = 0; i < BINS; i++)
        ret[i] = FIRST_RISK;
    for (size_t l = 0; l < LEVELS; l++) {
        const struct table *table = find_table(tables, group, l);
        const float prior = levels[l].prior;
        for (int i = 0; table && i < BINS; i++) {
            const float ended = table->ended[i], reached = table->reached[i] > ended ? table->reached[i] : ended;
            ret[i] = (ended + prior * ret[i]) / (reached + prior);
        }
        for (int i = 0; l == 0 && i < BINS; i++) /* nobody has run as long */
            ret[i] = tables->all.reached[i] < 1 ? 1 : ret[i];
    }
}

/* ---- bytes: groups by place, and of each table the bins that somebody reached ---- */

static void encode_table(const struct table *table, struct adl_text *ret)
{
    uint32_t bins = BINS;
    while (bins > 0 && table->reached[bins - 1] == 0)
        bins--;
    adl_bytes_put_u32(ret, bins);
    for (uint32_t i = 0; i < bins; i++) {
        adl_pack_real(ret, (double)table->reached[i]);
        adl_pack_real(ret, (double)table->ended[i]);
    }
}

static void decode_table(struct adl_unpack *from, struct table *ret)
{
    const uint32_t bins = adl_unpack_u32(from, BINS);
    for (uint32_t i = 0; i < bins; i++) {
        ret->reached[i] = (float)adl_unpack_real(from, 0, WEIGHT_MAX);
        ret->ended[i] = (float)adl_unpack_real(from, 0, WEIGHT_MAX);
    }
}

void adl_life_tables_encode(const struct adl_life_tables *tables, struct adl_text *ret)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SETS * WAYS; i++)
        count += tables->keys[i] != 0;
    encode_table(&tables->all, ret);
    adl_bytes_put_u32(ret, count);
    for (uint32_t i = 0; i < SETS * WAYS; i++) {
        if (tables->keys[i] == 0)
            continue;
        adl_bytes_put_u32(ret, i);
        adl_bytes_put_u64(ret, tables->keys[i]);
        encode_table(&tables->groups[i], ret);
    }
}

void adl_life_tables_decode(struct adl_life_tables *tables, struct adl_unpack *from, bool same_users)
{
    decode_table(from, &tables->all);
    const uint32_t count = adl_unpack_u32(from, SETS * WAYS);
    for (uint32_t i = 0; i < count && !from->failed; i++) {
        struct table read = {{0}, {0}};
        const uint32_t place = adl_unpack_u32(from, SETS * WAYS - 1);
        const uint64_t key = adl_unpack_u64(from);
        decode_table(from, &read);
        from->failed |= key % SETS != place / WAYS;
        if (same_users && !from->failed) {
            tables->keys[place] = key;
            tables->groups[place] = read;
        }
    }
}
