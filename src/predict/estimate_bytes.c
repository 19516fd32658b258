#include "predict/estimate_bytes.h"

#include <stdlib.h>

#define LOG_MOST   1e3f /* of the magnitude of a logarithm */
#define COUNT_MOST 1e15 /* of counters that are reals */
#define CLOCK_MOST (UINT64_C(1) << 62)

enum { KNOWS_GFLOP = 1, KNOWS_GB = 2, KNOWS_LEAST = 4, SPANS = 8 };

/* ---- writing ---- */

static void encode_profile(const struct adl_estimate_table *k, uint32_t index, struct adl_text *ret)
{
    const struct adl_profile *p = &k->profiles[index];
    const double logs[] = {p->log_gpus, p->log_memory, p->log_cores, p->log_gflop, p->log_gb, p->log_least};
    adl_bytes_put_u32(ret, index);
    adl_bytes_put_u64(ret, p->last_used);
    adl_bytes_put_u32(ret, p->name_id);
    adl_bytes_put_u32(ret, p->class_index);
    adl_bytes_put_u32(ret, p->gpus);
    adl_bytes_put_u32(ret, (uint32_t)p->gpu_memory_mib);
    adl_text_char(ret, (char)p->kind);
    adl_text_char(ret, (char)((p->knows_gflop ? KNOWS_GFLOP : 0) | (p->knows_gb ? KNOWS_GB : 0) |
                              (p->knows_least ? KNOWS_LEAST : 0) | (p->spans ? SPANS : 0)));
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        adl_pack_real(ret, logs[i]);
}

/* What is known of a profile on a type beside measurements. */
static void encode_row(const struct adl_estimate_table *k, size_t at, struct adl_text *ret)
{
    const float rates[] = {k->initial[at].mean, k->initial[at].spread, k->rates[at].mean, k->rates[at].spread};
    const struct adl_sum *sums[] = {&k->as_victim[at], &k->as_neighbour[at]};
    adl_bytes_put_floats(ret, rates, sizeof rates / sizeof *rates);
    adl_bytes_put_floats(ret, k->duties[at].features, ADL_DUTY_FEATURES);
    for (int i = 0; i < 2; i++) {
        adl_pack_real(ret, sums[i]->sum);
        adl_pack_real(ret, sums[i]->count);
    }
}

static void encode_cells(const struct adl_estimate_table *k, uint32_t profile, struct adl_text *ret, uint32_t *count)
{
    for (uint32_t n = 0; n <= k->capacity; n++)
        for (uint32_t t = 0; t < k->type_count; t++) {
            const uint32_t neighbour = n == k->capacity ? ADL_NONE : n;
            const struct adl_cell *cell = adl_estimate_table_cell(k, profile, t, neighbour);
            if (cell->count == 0)
                continue;
            ++*count;
            if (!ret)
                continue;
            const float values[] = {cell->log_rate, cell->variance, cell->share, cell->initial};
            adl_bytes_put_u32(ret, profile);
            adl_bytes_put_u32(ret, neighbour);
            adl_bytes_put_u32(ret, t);
            adl_bytes_put_floats(ret, values, 4);
            adl_bytes_put_u32(ret, cell->count);
        }
}

void adl_estimate_table_encode(const struct adl_estimate_table *table, struct adl_text *ret)
{
    const struct adl_estimate_table *k = table;
    uint32_t profiles = 0, cells = 0, again = 0;
    for (uint32_t p = 0; p < k->capacity; p++) {
        profiles += k->profiles[p].key != 0;
        if (k->profiles[p].key != 0)
            encode_cells(k, p, NULL, &cells);
    }
    adl_bytes_put_u32(ret, k->type_count);
    adl_bytes_put_u32(ret, profiles);
    adl_bytes_put_u32(ret, cells);
    adl_bytes_put_u64(ret, k->clock);
    for (uint32_t t = 0; t < k->type_count; t++) {
        adl_pack_real(ret, k->all_shares[t].sum);
        adl_pack_real(ret, k->all_shares[t].count);
    }
    for (uint32_t p = 0; p < k->capacity; p++) {
        if (k->profiles[p].key == 0)
            continue;
        encode_profile(k, p, ret);
        for (uint32_t t = 0; t < k->type_count; t++)
            encode_row(k, adl_estimate_table_at(k, p, t), ret);
    }
    for (uint32_t p = 0; p < k->capacity; p++)
        if (k->profiles[p].key != 0)
            encode_cells(k, p, ret, &again);
}

/* ---- reading ---- */

/* A class that this scenario does not have becomes 0, "it does not say"; the name still tells the jobs. */
static bool translate_profile(const struct adl_translation *to, struct adl_profile *p)
{
    if (!to->same) {
        const uint32_t class_index = adl_translate_class(to, p->class_index);
        if (class_index == ADL_NONE && p->name_id == 0)
            return false;
        p->class_index = (uint16_t)(class_index == ADL_NONE ? 0 : class_index);
    }
    p->family = p->name_id ? p->name_id : (uint32_t)p->class_index;
    return true;
}

static void read_profile(struct adl_unpack *from, struct adl_profile *ret)
{
    *ret = (struct adl_profile){.last_used = adl_unpack_u64(from)};
    ret->name_id = adl_unpack_u32(from, UINT32_MAX);
    ret->class_index = (uint16_t)adl_unpack_u32(from, UINT16_MAX);
    ret->gpus = (uint16_t)adl_unpack_u32(from, UINT16_MAX);
    ret->gpu_memory_mib = (int32_t)adl_unpack_u32(from, INT32_MAX);
    ret->kind = adl_unpack_u8(from);
    const uint8_t flags = adl_unpack_u8(from);
    ret->knows_gflop = flags & KNOWS_GFLOP;
    ret->knows_gb = flags & KNOWS_GB;
    ret->knows_least = flags & KNOWS_LEAST;
    ret->spans = flags & SPANS;
    from->failed |= ret->kind >= ADL_KIND_COUNT || flags > 15 || ret->last_used > CLOCK_MOST;
    double *const logs[] = {&ret->log_gpus,  &ret->log_memory, &ret->log_cores,
                            &ret->log_gflop, &ret->log_gb,     &ret->log_least};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++)
        *logs[i] = adl_unpack_real(from, -(double)LOG_MOST, (double)LOG_MOST);
}

static struct adl_sum read_sum(struct adl_unpack *from)
{
    const double sum = adl_unpack_real(from, -COUNT_MOST, COUNT_MOST);
    return (struct adl_sum){sum, adl_unpack_real(from, 0, COUNT_MOST)};
}

static void read_row(struct adl_estimate_table *k, size_t at, bool same, struct adl_unpack *from)
{
    struct adl_prediction *const rates[] = {&k->initial[at], &k->rates[at]};
    for (int i = 0; i < 2; i++) {
        rates[i]->mean = adl_unpack_float(from, LOG_MOST);
        rates[i]->spread = adl_unpack_float(from, LOG_MOST);
    }
    for (int i = 0; i < ADL_DUTY_FEATURES; i++)
        k->duties[at].features[i] = adl_unpack_float(from, LOG_MOST);
    const struct adl_sum victim = read_sum(from), neighbour = read_sum(from);
    if (same) {
        k->as_victim[at] = victim;
        k->as_neighbour[at] = neighbour;
    }
}

/* If cells were skipped, the sums that are read are of more cells than there are. */
static void sum_share(struct adl_estimate_table *k, uint32_t profile, uint32_t type, uint32_t neighbour, float share)
{
    struct adl_sum *const sums[] = {&k->as_victim[adl_estimate_table_at(k, profile, type)],
                                    &k->as_neighbour[adl_estimate_table_at(k, neighbour, type)], &k->all_shares[type]};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        sums[i]->sum += (double)share;
        sums[i]->count += 1;
    }
}

/* The next profile; index_of tells where it went. */
static int decode_profile(struct adl_estimate_table *k, struct adl_unpack *from, const struct adl_translation *to,
                          uint32_t *index_of, struct adl_estimate_account *account, struct adl_error *err)
{
    struct adl_profile profile;
    const uint32_t index = adl_unpack_u32(from, k->capacity - 1);
    read_profile(from, &profile);
    if (from->failed || k->profiles[index].key != 0 || index_of[index] != ADL_NONE)
        return adl_fail(err, ADL_EINVAL, "profile %u of its measured speeds is damaged", account->profiles + 1);
    const bool wanted = translate_profile(to, &profile) && adl_estimate_table_restore(k, index, &profile);
    if (!wanted && to->same)
        return adl_fail(err, ADL_EINVAL, "two profiles of its measured speeds are of the same jobs");
    index_of[index] = wanted ? index : k->capacity;
    for (uint32_t t = 0; t < to->type_count; t++) {
        const uint32_t type = to->type_of[t];
        if (wanted && type != ADL_NONE)
            read_row(k, adl_estimate_table_at(k, index, type), to->same, from);
        else
            adl_unpack_bytes(from, 4 * (4 + ADL_DUTY_FEATURES) + 32);
    }
    account->profiles += wanted;
    account->forgotten += !wanted;
    return from->failed ? adl_fail(err, ADL_EINVAL, "its estimates of profile %u are damaged", index) : 0;
}

static void read_cell(struct adl_unpack *from, struct adl_cell *ret)
{
    ret->log_rate = adl_unpack_float(from, LOG_MOST);
    ret->variance = adl_unpack_float(from, LOG_MOST);
    ret->share = adl_unpack_float(from, LOG_MOST);
    ret->initial = adl_unpack_float(from, LOG_MOST);
    ret->count = adl_unpack_u32(from, UINT32_MAX);
    from->failed |= ret->count == 0 || ret->variance < 0;
}

static int decode_cell(struct adl_estimate_table *k, struct adl_unpack *from, const struct adl_translation *to,
                       const uint32_t *index_of, struct adl_estimate_account *account, struct adl_error *err)
{
    struct adl_cell cell;
    const uint32_t profile = adl_unpack_u32(from, k->capacity - 1), neighbour = adl_unpack_u32(from, UINT32_MAX);
    const uint32_t type = adl_unpack_u32(from, to->type_count - 1);
    read_cell(from, &cell);
    const bool alone = neighbour == ADL_NONE;
    if (from->failed || index_of[profile] == ADL_NONE ||
        (!alone && (neighbour >= k->capacity || index_of[neighbour] == ADL_NONE)))
        return adl_fail(err, ADL_EINVAL, "measured cell %u is damaged", account->cells + account->skipped + 1);
    if (index_of[profile] == k->capacity || (!alone && index_of[neighbour] == k->capacity) ||
        to->type_of[type] == ADL_NONE) {
        account->skipped++;
        return 0;
    }
    struct adl_cell *place = adl_estimate_table_cell(k, profile, to->type_of[type], neighbour);
    if (place->count > 0)
        return adl_fail(err, ADL_EINVAL, "measured cell %u is there twice", account->cells + account->skipped + 1);
    *place = cell;
    if (!to->same && !alone)
        sum_share(k, profile, to->type_of[type], neighbour, cell.share);
    k->profiles[profile].measured_alone += alone;
    k->profiles[profile].measured_beside += !alone;
    account->cells++;
    return 0;
}

int adl_estimate_table_decode(struct adl_estimate_table *table, struct adl_unpack *from,
                              const struct adl_translation *to, struct adl_estimate_account *ret, struct adl_error *err)
{
    struct adl_estimate_table *k = table;
    uint32_t index_of[ADL_PROFILES_MAX];
    const uint32_t types = adl_unpack_u32(from, ADL_TYPES_MAX), profiles = adl_unpack_u32(from, k->capacity);
    const uint32_t cells = adl_unpack_u32(from, UINT32_MAX);
    *ret = (struct adl_estimate_account){0};
    k->clock = adl_unpack_u64(from);
    if (from->failed || types != to->type_count || types == 0 || k->clock > CLOCK_MOST)
        return adl_fail(err, ADL_EINVAL, "the heading of its measured speeds is damaged");
    for (uint32_t t = 0; t < types; t++) {
        const struct adl_sum all = read_sum(from);
        if (to->same)
            k->all_shares[to->type_of[t]] = all;
    }
    for (uint32_t i = 0; i < k->capacity; i++)
        index_of[i] = ADL_NONE;
    int status = 0;
    for (uint32_t i = 0; i < profiles && !status; i++)
        status = decode_profile(k, from, to, index_of, ret, err);
    for (uint32_t i = 0; i < cells && !status; i++)
        status = decode_cell(k, from, to, index_of, ret, err);
    return status;
}
