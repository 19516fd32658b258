#include "predict/speed_regression.h"

#include "base/copy.h"
#include "base/real.h"

#include <stdlib.h>
#include <string.h>

#define FAMILIES   128
#define GANGS      8    /* 1, 2, 3-4, 5-8 ... GPUs */
#define PRIOR      0.5  /* standard deviation of ln(speed / specified) over types */
#define FEW        20   /* jobs whose noise counts as 1 before the noise is known */
#define FAMILIAR   3    /* jobs after which a residual of the family is noise */
#define NOISE_MOST 9.0  /* of one job, so that one absurd run time does not decide */
#define JOBS_MOST  2000 /* of a family, before its sums are halved */
#define SWEEPS     2    /* of coordinate descent from the solution before */

struct cell {
    double count, sum;
};

struct family {
    uint64_t key;       /* 0 = unused */
    uint64_t last_used; /* clock */
    double jobs;
    double gang[GANGS];                               /* a */
    double type[ADL_TYPES_MAX];                       /* b */
    double across;                                    /* s */
    double type_factor[ADL_TYPES_MAX], across_factor; /* their exponentials, because speeds are read often */
};

struct adl_speed_regression {
    uint32_t types;
    uint64_t clock;
    double noise_sum, noise_count; /* of squared residuals */
    struct family families[FAMILIES];
    struct cell *cells; /* [family][gang][type][spans] */
};

static size_t cell_count(const struct adl_speed_regression *regression)
{
    return (size_t)GANGS * regression->types * 2;
}

int adl_speed_regression_create(uint32_t types, struct adl_speed_regression **ret)
{
    struct adl_speed_regression *regression = calloc(1, sizeof *regression);
    if (!regression)
        return ADL_ENOMEM;
    regression->types = types;
    regression->noise_sum = regression->noise_count = FEW;
    regression->cells = calloc((size_t)FAMILIES * cell_count(regression), sizeof *regression->cells);
    if (!regression->cells) {
        free(regression);
        return ADL_ENOMEM;
    }
    *ret = regression;
    return 0;
}

void adl_speed_regression_destroy(struct adl_speed_regression *regression)
{
    if (!regression)
        return;
    free(regression->cells);
    free(regression);
}

void adl_speed_regression_copy(struct adl_speed_regression *to, const struct adl_speed_regression *from)
{
    const struct adl_speed_regression own = *to;
    *to = *from;
    ADL_COPY_ARRAY(to, own, from, cells, FAMILIES * cell_count(from));
}

static uint64_t key_of(const struct adl_job_spec *spec)
{
    return (spec->name_id ? UINT64_C(1) << 32 | spec->name_id : (uint64_t)spec->class_index) + 1;
}

static uint32_t gang_of(const struct adl_job_spec *spec)
{
    const uint32_t more = spec->gpus > 1 ? 32 - (uint32_t)__builtin_clz((uint32_t)spec->gpus - 1) : 0;
    return more < GANGS ? more : GANGS - 1;
}

static const struct family *find_family(const struct adl_speed_regression *regression, uint64_t key)
{
    for (int f = 0; f < FAMILIES; f++)
        if (regression->families[f].key == key)
            return &regression->families[f];
    return NULL;
}

static struct cell *cells_of(const struct adl_speed_regression *regression, const struct family *family)
{
    return &regression->cells[(size_t)(family - regression->families) * cell_count(regression)];
}

/* Its family, in the place of the least recently seen if it is new. */
static struct family *use_family(struct adl_speed_regression *regression, uint64_t key)
{
    struct family *oldest = &regression->families[0];
    for (int f = 0; f < FAMILIES; f++) {
        struct family *family = &regression->families[f];
        if (family->key == key) {
            family->last_used = ++regression->clock;
            return family;
        }
        oldest = family->last_used < oldest->last_used ? family : oldest;
    }
    *oldest = (struct family){.key = key, .last_used = ++regression->clock};
    memset(cells_of(regression, oldest), 0, cell_count(regression) * sizeof(struct cell));
    return oldest;
}

/* One of the three kinds of coefficients: the mean of what the others leave, shrunk to 0 by ridge. */
enum term { GANG, TYPE, ACROSS };

static void fit(const struct adl_speed_regression *regression, struct family *family, enum term term, double ridge)
{
    const struct cell *cells = cells_of(regression, family);
    double sums[ADL_TYPES_MAX] = {0}, counts[ADL_TYPES_MAX] = {0};
    for (uint32_t c = 0; c < cell_count(regression); c++) {
        const uint32_t spans = c % 2, type = c / 2 % regression->types, gang = c / 2 / regression->types;
        if (!(cells[c].count > 0) || (term == ACROSS && !spans))
            continue;
        const uint32_t at = term == GANG ? gang : term == TYPE ? type : 0;
        const double fitted = (term == GANG ? 0 : family->gang[gang]) + (term == TYPE ? 0 : family->type[type]) +
                              (term == ACROSS || !spans ? 0 : family->across);
        sums[at] += cells[c].sum - cells[c].count * fitted;
        counts[at] += cells[c].count;
    }
    for (uint32_t i = 0; i < GANGS && term == GANG; i++)
        family->gang[i] = counts[i] > 0 ? sums[i] / counts[i] : 0;
    for (uint32_t i = 0; i < regression->types && term == TYPE; i++)
        family->type[i] = sums[i] / (counts[i] + ridge);
    if (term == ACROSS) /* it never makes a job faster */
        family->across = sums[0] < 0 ? sums[0] / (counts[0] + ridge) : 0;
}

static void set_factors(const struct adl_speed_regression *regression, struct family *family)
{
    for (uint32_t t = 0; t < regression->types; t++)
        family->type_factor[t] = adl_exp(family->type[t]);
    family->across_factor = adl_exp(family->across);
}

static void age(struct adl_speed_regression *regression, struct family *family)
{
    struct cell *cells = cells_of(regression, family);
    for (uint32_t c = 0; c < cell_count(regression); c++) {
        cells[c].count /= 2;
        cells[c].sum /= 2;
    }
    family->jobs /= 2;
}

void adl_speed_regression_learn(struct adl_speed_regression *regression, const struct adl_job_spec *spec, uint32_t type,
                                bool spans, int64_t run_us, const double *specified)
{
    if (run_us <= 0 || spec->limit_us <= 0 || !(specified[type] > 0))
        return;
    struct family *family = use_family(regression, key_of(spec));
    const uint32_t gang = gang_of(spec);
    struct cell *cell = &cells_of(regression, family)[(gang * regression->types + type) * 2 + spans];
    const double y = adl_log((double)spec->limit_us) - adl_log((double)run_us) - adl_log(specified[type]);
    const double off = y - family->gang[gang] - family->type[type] - (spans ? family->across : 0);
    if (family->jobs >= FAMILIAR) {
        regression->noise_sum += off * off < NOISE_MOST ? off * off : NOISE_MOST;
        regression->noise_count += 1;
    }
    cell->count += 1;
    cell->sum += y;
    family->jobs += 1;
    if (family->jobs >= JOBS_MOST)
        age(regression, family);
    const double ridge = regression->noise_sum / regression->noise_count / (PRIOR * PRIOR);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        fit(regression, family, GANG, ridge);
        fit(regression, family, TYPE, ridge);
        fit(regression, family, ACROSS, ridge);
    }
    set_factors(regression, family);
}

bool adl_speed_regression_find(const struct adl_speed_regression *regression, const struct adl_job_spec *spec,
                               const double *specified, double *ret, double *ret_across)
{
    const struct family *family = find_family(regression, key_of(spec));
    if (!family)
        return false;
    for (uint32_t t = 0; t < regression->types; t++) {
        ret[t] = specified[t] * family->type_factor[t];
        ret_across[t] = ret[t] * family->across_factor;
    }
    return true;
}

/* ---- bytes ---- */

#define NAMED      (UINT64_C(1) << 32) /* of a key */
#define COUNT_MOST 1e15
#define LOG_MOST   1e6

static uint32_t count_cells(const struct adl_speed_regression *regression, const struct family *family)
{
    const struct cell *cells = cells_of(regression, family);
    uint32_t count = 0;
    for (uint32_t c = 0; c < cell_count(regression); c++)
        count += cells[c].count > 0;
    return count;
}

static void encode_family(const struct adl_speed_regression *regression, const struct family *family,
                          struct adl_text *ret)
{
    const struct cell *cells = cells_of(regression, family);
    adl_bytes_put_u64(ret, family->key);
    adl_bytes_put_u64(ret, family->last_used);
    adl_pack_real(ret, family->jobs);
    adl_pack_real(ret, family->across);
    for (uint32_t g = 0; g < GANGS; g++)
        adl_pack_real(ret, family->gang[g]);
    for (uint32_t t = 0; t < regression->types; t++)
        adl_pack_real(ret, family->type[t]);
    adl_bytes_put_u32(ret, count_cells(regression, family));
    for (uint32_t c = 0; c < cell_count(regression); c++)
        if (cells[c].count > 0) {
            adl_bytes_put_u32(ret, c);
            adl_pack_real(ret, cells[c].count);
            adl_pack_real(ret, cells[c].sum);
        }
}

void adl_speed_regression_encode(const struct adl_speed_regression *regression, struct adl_text *ret)
{
    uint32_t families = 0;
    for (int f = 0; f < FAMILIES; f++)
        families += regression->families[f].key != 0;
    adl_bytes_put_u32(ret, regression->types);
    adl_bytes_put_u64(ret, regression->clock);
    adl_pack_real(ret, regression->noise_sum);
    adl_pack_real(ret, regression->noise_count);
    adl_bytes_put_u32(ret, families);
    for (int f = 0; f < FAMILIES; f++)
        if (regression->families[f].key != 0)
            encode_family(regression, &regression->families[f], ret);
}

static uint32_t type_here(const struct adl_translation *to, uint32_t type)
{
    return to->same ? type : type < to->type_count ? to->type_of[type] : ADL_NONE;
}

static uint64_t key_here(const struct adl_translation *to, uint64_t key)
{
    if (to->same || key > NAMED)
        return key;
    const uint32_t class_index = key > 0 ? adl_translate_class(to, (uint32_t)(key - 1)) : ADL_NONE;
    return class_index == ADL_NONE ? 0 : (uint64_t)class_index + 1;
}

static void decode_family(struct adl_speed_regression *regression, struct family *family, uint32_t types,
                          struct adl_unpack *from, const struct adl_translation *to)
{
    struct cell *cells = cells_of(regression, family);
    family->key = key_here(to, adl_unpack_u64(from));
    family->last_used = adl_unpack_u64(from);
    family->jobs = adl_unpack_real(from, 0, COUNT_MOST);
    family->across = adl_unpack_real(from, -LOG_MOST, 0);
    for (uint32_t g = 0; g < GANGS; g++)
        family->gang[g] = adl_unpack_real(from, -LOG_MOST, LOG_MOST);
    for (uint32_t t = 0; t < types; t++) {
        const double value = adl_unpack_real(from, -LOG_MOST, LOG_MOST);
        if (type_here(to, t) < regression->types)
            family->type[type_here(to, t)] = value;
    }
    for (uint32_t left = adl_unpack_u32(from, GANGS * types * 2); left > 0 && !from->failed; left--) {
        const uint32_t c = adl_unpack_u32(from, GANGS * types * 2 - 1), gang = c / 2 / types;
        const struct cell cell = {adl_unpack_real(from, 0, COUNT_MOST), adl_unpack_real(from, -COUNT_MOST, COUNT_MOST)};
        const uint32_t type = type_here(to, c / 2 % types);
        if (type < regression->types)
            cells[(gang * regression->types + type) * 2 + c % 2] = cell;
    }
    set_factors(regression, family);
    if (family->key == 0) { /* of a class that this cluster does not have */
        *family = (struct family){0};
        memset(cells, 0, cell_count(regression) * sizeof *cells);
    }
}

bool adl_speed_regression_decode(struct adl_speed_regression *regression, struct adl_unpack *from,
                                 const struct adl_translation *to)
{
    const uint32_t types = adl_unpack_u32(from, ADL_TYPES_MAX);
    regression->clock = adl_unpack_u64(from);
    regression->noise_sum = adl_unpack_real(from, 0, COUNT_MOST);
    regression->noise_count = adl_unpack_real(from, 1, COUNT_MOST);
    const uint32_t families = adl_unpack_u32(from, FAMILIES);
    from->failed |= types == 0 || (to->same && types != regression->types);
    for (uint32_t f = 0; f < families && !from->failed; f++)
        decode_family(regression, &regression->families[f], types, from, to);
    return !from->failed;
}
