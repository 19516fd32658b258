#include "predict/life_tables.h"

#include "base/hash.h"
#include "base/real.h"

#include <math.h>
#include <stdlib.h>

#define BINS       ADL_LIFE_BINS
#define FIRST_LOG  13.0 /* of a time in us: 0.44 s; all below is one bin ... */
#define WIDTH      0.15 /* ... and the last one begins after two and a half years */
#define SETS       256  /* of groups */
#define WAYS       4    /* groups of a set */
#define FIRST_RISK 0.5f /* hazard of a bin of which nothing is known */
#define WEIGHT_MAX 1e9f /* of a bin */
#define ALL_JOBS   100  /* that all owners count as */
#define GATHERED   64   /* jobs begin before what is known of all owners is gathered again ... */
#define FIRST_JOBS 256  /* ... after these */
#define OTHERS_MAX 2000 /* jobs that owners without a table of their own count as */

/* Tables of a job, from the widest on. Constants were chosen on the first half of Philly and on Chronus without
 * deadlines (docs/belief.md). */
enum level { ALL, OWNER, GANG, RECENT, LEVELS };

static const struct {
    float kept;  /* of all counts, when another job of the table begins; ALL is gathered from owners */
    float prior; /* jobs that the table before this one weighs as much as */
} levels[LEVELS] = {{0, 0.5f}, {1 - 1.0f / 1000, 20}, {1 - 1.0f / 300, 3}, {1 - 1.0f / 30, 10}};

struct table {
    float reached[BINS], ended[BINS];
};

struct group {
    uint64_t key;              /* 0 = none */
    uint32_t begun;            /* jobs */
    bool owner;                /* all jobs of an owner */
    struct table slow, recent; /* the second only of an owner and number of GPUs */
};

struct adl_life_tables {
    uint32_t begun;      /* jobs */
    struct table all;    /* of owners */
    struct table others; /* of those that have no table any more, or are of another cluster */
    struct group groups[SETS * WAYS];
};

int adl_life_tables_create(struct adl_life_tables **ret)
{

    return (*ret = calloc(1, sizeof **ret)) ? 0 : ADL_ENOMEM;
}

void adl_life_tables_destroy(struct adl_life_tables *tables)
{
    free(tables);
}

void adl_life_tables_copy(struct adl_life_tables *to, const struct adl_life_tables *from)
{
    to->begun = from->begun;
    to->all = from->all;
    to->others = from->others;
    for (uint32_t i = 0; i < SETS * WAYS; i++)
        if (to->groups[i].key != 0 || from->groups[i].key != 0)
            to->groups[i] = from->groups[i];
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

static uint64_t key_of(struct adl_life_group group, enum level level)
{
    const uint64_t key =
        adl_hash_u64(adl_hash_u64(adl_hash_start(), group.owner), level == OWNER ? UINT64_MAX : group.gang);
    return key + (key == 0);
}

static uint32_t find_place(const struct adl_life_tables *tables, uint64_t key)
{
    const uint32_t first = (uint32_t)(key % SETS) * WAYS;
    uint32_t least = first;
    for (uint32_t i = first; i < first + WAYS; i++) {
        if (tables->groups[i].key == key)
            return i;
        if (tables->groups[i].slow.reached[0] < tables->groups[least].slow.reached[0])
            least = i;
    }
    return least;
}

static void fade(struct table *table, float kept)
{
    for (int i = 0; i < BINS; i++) {
        table->ended[i] *= kept;
        table->reached[i] *= kept;
    }
}

static void add_table(struct table *to, const struct table *more)
{
    for (int i = 0; i < BINS; i++) {
        to->reached[i] += more->reached[i];
        to->ended[i] += more->ended[i];
    }
}

static void fade_to(struct table *table, float jobs)
{
    if (table->reached[0] > jobs)
        fade(table, jobs / table->reached[0]);
}

static struct group *take_group(struct adl_life_tables *tables, struct adl_life_group group, enum level level)
{
    const uint64_t key = key_of(group, level);
    struct group *place = &tables->groups[find_place(tables, key)];
    if (place->key == key)
        return place;
    if (place->owner) {
        add_table(&tables->others, &place->slow);
        fade_to(&tables->others, OTHERS_MAX);
    }
    *place = (struct group){.key = key, .owner = level == OWNER};
    return place;
}

/* NULL: nothing is known of the group. */
static const struct table *find_table(const struct adl_life_tables *tables, struct adl_life_group group,
                                      enum level level)
{
    if (level == ALL)
        return &tables->all;
    const uint64_t key = key_of(group, level);
    const struct group *place = &tables->groups[find_place(tables, key)];
    return place->key != key ? NULL : level == RECENT ? &place->recent : &place->slow;
}

/* ---- learning ---- */

static float power(float base, uint32_t exponent)
{
    float ret = 1;
    for (; exponent; exponent >>= 1, base *= base)
        ret *= exponent & 1 ? base : 1;
    return ret;
}

/* The weight of a job at a level; the first one in a group that was forgotten since. */
static float weight_of(const struct group *group, const struct adl_life *life, enum level level)
{
    const uint32_t begun = level == OWNER ? life->owner_begun : life->gang_begun;
    return group->begun > begun ? power(levels[level].kept, group->begun - begun) : 1;
}

static struct table *table_of(struct group *group, enum level level)
{
    return level == RECENT ? &group->recent : &group->slow;
}

/* Of an owner of whom nothing is known: the jobs of all others. No owner counts as more jobs than a table keeps. */
static void gather_owners(struct adl_life_tables *tables)
{
    tables->all = tables->others;
    for (uint32_t g = 0; g < SETS * WAYS; g++)
        if (tables->groups[g].owner)
            add_table(&tables->all, &tables->groups[g].slow);
    fade_to(&tables->all, ALL_JOBS);
}

static void begin(struct adl_life_tables *tables, struct adl_life_group group, struct adl_life *life)
{
    struct group *owner = take_group(tables, group, OWNER), *gang = take_group(tables, group, GANG);
    fade(&owner->slow, levels[OWNER].kept);
    fade(&gang->slow, levels[GANG].kept);
    fade(&gang->recent, levels[RECENT].kept);
    life->owner_begun = ++owner->begun;
    life->gang_begun = ++gang->begun;
    if (++tables->begun % GATHERED == 0 || tables->begun < FIRST_JOBS)
        gather_owners(tables);
}

void adl_life_tables_age(struct adl_life_tables *tables, struct adl_life_group group, struct adl_life *life,
                         double age_us)
{
    const int bins = bin_of(age_us) + 1;
    if (life->owner_begun == 0)
        begin(tables, group, life);
    if (bins <= life->reached)
        return;
    for (enum level l = OWNER; l < LEVELS; l++) {
        struct group *it = take_group(tables, group, l);
        const float weight = weight_of(it, life, l);
        for (int i = life->reached; i < bins; i++)
            table_of(it, l)->reached[i] += weight;
    }
    life->reached = (uint8_t)bins;
}

void adl_life_tables_end(struct adl_life_tables *tables, struct adl_life_group group, struct adl_life *life,
                         double age_us)
{
    const int bin = bin_of(age_us);
    adl_life_tables_age(tables, group, life, age_us);
    for (enum level l = OWNER; l < LEVELS; l++) {
        struct group *it = take_group(tables, group, l);
        table_of(it, l)->ended[bin] += weight_of(it, life, l);
    }
}

void adl_life_tables_enter(struct adl_life_tables *tables, struct adl_life_group group, struct adl_life *life,
                           double age_us)
{
    *life = (struct adl_life){0};
    if (!(age_us > 0))
        return;
    life->reached = (uint8_t)(bin_of(age_us) + 1);
    life->owner_begun = take_group(tables, group, OWNER)->begun + 1;
    life->gang_begun = take_group(tables, group, GANG)->begun + 1;
}

double adl_life_next_us(const struct adl_life *life)
{
    return life->reached < BINS ? adl_exp(adl_life_log(life->reached)) : HUGE_VAL;
}

/* ---- reading ---- */

uint32_t adl_life_tables_begun(const struct adl_life_tables *tables)
{
    return tables->begun;
}

void adl_life_tables_hazards(const struct adl_life_tables *tables, struct adl_life_group group, float ret[BINS])
{
    for (int i = 0; i < BINS; i++)
        ret[i] = FIRST_RISK;
    for (enum level l = ALL; l < LEVELS; l++) {
        const struct table *table = find_table(tables, group, l);
        const float prior = levels[l].prior;
        for (int i = 0; table && i < BINS; i++) {
            const float ended = table->ended[i], reached = table->reached[i] > ended ? table->reached[i] : ended;
            ret[i] = (ended + prior * ret[i]) / (reached + prior);
        }
        for (int i = 0; l == ALL && i < BINS; i++) /* nobody has run as long */
            ret[i] = tables->all.reached[i] > 0 ? ret[i] : 1;
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

static void encode_group(const struct group *group, struct adl_text *ret)
{
    adl_bytes_put_u64(ret, group->key);
    adl_bytes_put_u32(ret, group->begun);
    adl_text_char(ret, (char)group->owner);
    encode_table(&group->slow, ret);
    encode_table(&group->recent, ret);
}

static void decode_group(struct adl_unpack *from, struct group *ret)
{
    ret->key = adl_unpack_u64(from);
    ret->begun = adl_unpack_u32(from, UINT32_MAX);
    const uint8_t owner = adl_unpack_u8(from);
    ret->owner = owner == 1;
    decode_table(from, &ret->slow);
    decode_table(from, &ret->recent);
    from->failed |= ret->key == 0 || owner > 1;
}

void adl_life_tables_encode(const struct adl_life_tables *tables, struct adl_text *ret)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SETS * WAYS; i++)
        count += tables->groups[i].key != 0;
    adl_bytes_put_u32(ret, tables->begun);
    encode_table(&tables->all, ret);
    encode_table(&tables->others, ret);
    adl_bytes_put_u32(ret, count);
    for (uint32_t i = 0; i < SETS * WAYS; i++) {
        if (tables->groups[i].key == 0)
            continue;
        adl_bytes_put_u32(ret, i);
        encode_group(&tables->groups[i], ret);
    }
}

void adl_life_tables_decode(struct adl_life_tables *tables, struct adl_unpack *from, bool same_users)
{
    tables->begun = adl_unpack_u32(from, UINT32_MAX);
    decode_table(from, &tables->all);
    decode_table(from, &tables->others);
    const uint32_t count = adl_unpack_u32(from, SETS * WAYS);
    for (uint32_t i = 0; i < count && !from->failed; i++) {
        struct group read = {0};
        const uint32_t place = adl_unpack_u32(from, SETS * WAYS - 1);
        decode_group(from, &read);
        from->failed |= read.key % SETS != place / WAYS;
        if (same_users && !from->failed)
            tables->groups[place] = read;
    }
    if (!same_users)
        tables->others = tables->all;
}
