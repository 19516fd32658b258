#include "predict/drift/bytes.h"

#include "predict/drift/internal.h"

#include <string.h>

#define TIME_MAX (INT64_C(1) << 60)
#define REAL_MAX 1e15

/* Writes a value to bytes, or reads it from them: one list of fields for both. */
struct codec {
    struct adl_text *to;     /* NULL: read */
    struct adl_unpack *from; /* NULL: write */
};

static void real_in(struct codec *codec, double *value, double least, double most)
{
    if (codec->to)
        adl_pack_real(codec->to, *value);
    else
        *value = adl_unpack_real(codec->from, least, most);
}

static void real(struct codec *codec, double *value)
{
    real_in(codec, value, -REAL_MAX, REAL_MAX);
}

static void number(struct codec *codec, uint32_t *value)
{
    if (codec->to)
        adl_bytes_put_u32(codec->to, *value);
    else
        *value = adl_unpack_u32(codec->from, UINT32_MAX);
}

static void key(struct codec *codec, uint64_t *value)
{
    if (codec->to)
        adl_bytes_put_u64(codec->to, *value);
    else
        *value = adl_unpack_u64(codec->from);
}

static void moment(struct codec *codec, int64_t *time_us)
{
    uint64_t value = (uint64_t)*time_us;
    key(codec, &value);
    if (codec->from && value > TIME_MAX)
        codec->from->failed = true;
    *time_us = codec->from && codec->from->failed ? 0 : (int64_t)value;
}

static void flag(struct codec *codec, bool *value)
{
    if (codec->to) {
        adl_text_char(codec->to, (char)*value);
        return;
    }
    const uint8_t byte = adl_unpack_u8(codec->from);
    codec->from->failed |= byte > 1;
    *value = byte == 1;
}

/* ---- fields: a change of one of these structs changes its list and raises the version ---- */

_Static_assert(sizeof(struct adl_drift_test) == 40, "a field of a test was added: list it below");
static void test(struct codec *codec, struct adl_drift_test *it)
{
    real(codec, &it->sum);
    real(codec, &it->moved);
    real(codec, &it->agree);
    real(codec, &it->count);
    moment(codec, &it->since_us);
}

_Static_assert(sizeof(struct adl_drift_track) == 408, "a field of a track was added: list it below");
static void track(struct codec *codec, struct adl_drift_track *it)
{
    uint32_t direction = (uint32_t)(it->direction + 1);
    real(codec, &it->deviation);
    real_in(codec, &it->variance, 0, REAL_MAX);
    real(codec, &it->average);
    real(codec, &it->low);
    real(codec, &it->before);
    moment(codec, &it->jumped_us);
    number(codec, &it->samples);
    number(codec, &it->jumped_at);
    test(codec, &it->below);
    test(codec, &it->back);
    test(codec, &it->fall);
    test(codec, &it->rise);
    test(codec, &it->held);
    key(codec, &it->witness.now);
    real(codec, &it->witness.weight);
    key(codec, &it->witness.past);
    flag(codec, &it->slow);
    flag(codec, &it->certain);
    flag(codec, &it->told);
    number(codec, &it->told_at);
    number(codec, &it->speeds);
    moment(codec, &it->since_us);
    number(codec, &it->turns);
    number(codec, &direction);
    number(codec, &it->turned_at);
    number(codec, &it->first_turn);
    moment(codec, &it->first_fall_us);
    real(codec, &it->last);
    key(codec, &it->last_job);
    key(codec, &it->last_key);
    for (int i = 0; i < ADL_DRIFT_FRESH; i++)
        real(codec, &it->fresh[i]);
    number(codec, &it->fresh_count);
    real(codec, &it->own);
    number(codec, &it->own_samples);
    number(codec, &it->job_samples);
    if (codec->from)
        codec->from->failed |= direction > 2;
    it->direction = (int8_t)((int)(direction % 3) - 1);
}

_Static_assert(sizeof(struct adl_drift_moved) == 48, "a field of a moved sample was added: list it below");
static void moved(struct codec *codec, struct adl_drift_moved *it)
{
    real(codec, &it->x);
    real_in(codec, &it->variance, 0, REAL_MAX);
    real(codec, &it->sure);
    key(codec, &it->witness);
    moment(codec, &it->time_us);
    number(codec, &it->gpu);
}

_Static_assert(sizeof(struct adl_drift_type_track) == 832, "a field of a type's track was added: list it below");
static void type_track(struct codec *codec, struct adl_drift_type_track *it)
{
    real_in(codec, &it->change, -10, 10);
    real_in(codec, &it->variance, 0, REAL_MAX);
    real_in(codec, &it->step, -10, 10);
    real_in(codec, &it->before, -10, 10);
    flag(codec, &it->announced);
    flag(codec, &it->clear);
    number(codec, &it->count);
    const uint32_t kept = it->count < ADL_DRIFT_RECENT ? it->count : ADL_DRIFT_RECENT;
    for (uint32_t i = 0; i < kept; i++)
        moved(codec, &it->recent[i]);
    moment(codec, &it->since_us);
    number(codec, &it->changes);
    number(codec, &it->speeds);
    if (codec->from)
        codec->from->failed |= it->announced && it->count >= ADL_DRIFT_MEASURED;
}

_Static_assert(sizeof(struct adl_drift_cell) == 40, "a field of a cell was added: list it below");
static void cell(struct codec *codec, struct adl_drift_cell *it)
{
    key(codec, &it->key);
    key(codec, &it->used);
    real(codec, &it->mean);
    real_in(codec, &it->spread, 0, REAL_MAX);
    number(codec, &it->jobs);
}

/* All that is of one GPU. */
static void gpu_fields(struct codec *codec, struct adl_drift *drift, uint32_t gpu)
{
    for (int c = 0; c < ADL_DRIFT_CHANNELS; c++)
        track(codec, &drift->tracks[c][gpu]);
    uint32_t reason = drift->reasons[gpu];
    number(codec, &reason);
    if (codec->from)
        codec->from->failed |= reason > ADL_DRIFT_HELD;
    drift->reasons[gpu] = (uint8_t)(reason <= ADL_DRIFT_HELD ? reason : 0);
    real_in(codec, &drift->hot[gpu], 0, 1);
    key(codec, &drift->versions[gpu]);
    flag(codec, &drift->behind[gpu]);
    moment(codec, &drift->shared_us[gpu]);
    number(codec, &drift->losses[gpu].jobs);
    real_in(codec, &drift->losses[gpu].lost_s, 0, REAL_MAX);
}

static void common_fields(struct codec *codec, struct adl_drift *drift)
{
    for (int s = 0; s < ADL_DRIFT_SOURCES; s++)
        real_in(codec, &drift->noise[s], 1e-6, 10);
    number(codec, &drift->first_user);
    flag(codec, &drift->users);
    drift->sampled |= codec->from != NULL;
    for (uint32_t t = 0; t < drift->cluster->type_count; t++) {
        key(codec, &drift->newest[t]);
        real_in(codec, &drift->usual[t], 0, 1);
        for (int c = 0; c < ADL_DRIFT_CHANNELS; c++)
            type_track(codec, &drift->types[c][t]);
    }
}

/* ---- writing ---- */

static void encode_cells(const struct adl_drift_cells *cells, struct codec *codec)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ADL_DRIFT_CELLS; i++)
        count += cells->list[i].key != 0;
    adl_bytes_put_u64(codec->to, cells->clock);
    adl_bytes_put_u32(codec->to, count);
    for (uint32_t i = 0; i < ADL_DRIFT_CELLS; i++) {
        struct adl_drift_cell it = cells->list[i];
        if (it.key == 0)
            continue;
        adl_bytes_put_u32(codec->to, i);
        cell(codec, &it);
    }
}

void adl_drift_encode(const struct adl_drift *drift, struct adl_text *ret)
{
    struct codec codec = {.to = ret};
    struct adl_drift copy = *drift; /* fields are not const */
    const struct adl_cluster *cluster = drift->cluster;
    adl_bytes_put_u32(ret, ADL_DRIFT_BYTES_VERSION);
    adl_bytes_put_u32(ret, cluster->gpu_count);
    common_fields(&codec, &copy);
    for (uint32_t g = 0; g < cluster->gpu_count; g++) {
        const struct adl_node *node = &cluster->nodes[adl_gpu_node_of(cluster, g)];
        adl_pack_name(ret, node->name);
        adl_bytes_put_u32(ret, g - node->gpu_first);
        adl_bytes_put_u32(ret, adl_gpu_type_of(cluster, g));
        gpu_fields(&codec, &copy, g);
    }
    for (int c = 0; c < ADL_DRIFT_CHANNELS; c++)
        encode_cells(&drift->cells[c], &codec);
}

/* ---- reading ---- */

/* Witnesses are users: elsewhere their numbers mean others. */
static void forget_users(struct adl_drift *drift)
{
    for (uint32_t g = 0; g < drift->cluster->gpu_count; g++)
        for (int c = 0; c < ADL_DRIFT_CHANNELS; c++)
            drift->tracks[c][g].witness = (struct adl_drift_witness){0};
    for (uint32_t t = 0; t < drift->cluster->type_count; t++)
        for (uint32_t i = 0; i < ADL_DRIFT_RECENT; i++)
            drift->types[ADL_DRIFT_SPEEDS][t].recent[i].witness = 0;
    drift->first_user = 0;
}

struct gpu_name {
    char node[ADL_NAME_SIZE];
    uint32_t place, type;
};

static bool is_gpu(const struct adl_cluster *cluster, uint32_t gpu, const struct gpu_name *name)
{
    const struct adl_node *node = &cluster->nodes[adl_gpu_node_of(cluster, gpu)];
    return gpu - node->gpu_first == name->place && adl_gpu_type_of(cluster, gpu) == name->type &&
           strcmp(node->name, name->node) == 0;
}

/* The cluster mostly has them in the same order: the next is looked at first. */
static uint32_t find_gpu(const struct adl_cluster *cluster, uint32_t next, const struct gpu_name *name)
{
    for (uint32_t i = 0; i < cluster->gpu_count; i++) {
        const uint32_t gpu = (next + i) % cluster->gpu_count;
        if (is_gpu(cluster, gpu, name))
            return gpu;
    }
    return ADL_NONE;
}

static int decode_gpus(struct adl_drift *drift, struct adl_unpack *from, struct adl_drift_account *ret,
                       struct adl_error *err)
{
    struct codec codec = {.from = from};
    const uint32_t spare = drift->cluster->gpu_count; /* the arrays have room for one more */
    uint32_t next = 0;
    for (uint32_t i = 0; i < ret->gpus && !from->failed; i++) {
        struct gpu_name name;
        adl_unpack_name(from, name.node, sizeof name.node);
        name.place = adl_unpack_u32(from, UINT32_MAX);
        name.type = adl_unpack_u32(from, ADL_TYPES_MAX - 1);
        const uint32_t gpu = from->failed ? ADL_NONE : find_gpu(drift->cluster, next, &name);
        gpu_fields(&codec, drift, gpu == ADL_NONE ? spare : gpu);
        ret->skipped += gpu == ADL_NONE;
        next = gpu == ADL_NONE ? next : gpu + 1;
    }
    return from->failed ? adl_fail(err, ADL_EINVAL, "its speeds of GPUs are damaged") : 0;
}

static int decode_cells(struct adl_drift_cells *cells, struct adl_unpack *from, struct adl_error *err)
{
    struct codec codec = {.from = from};
    cells->clock = adl_unpack_u64(from);
    const uint32_t count = adl_unpack_u32(from, ADL_DRIFT_CELLS);
    from->failed |= count > 0 && cells->clock == 0;
    for (uint32_t i = 0; i < count && !from->failed; i++) {
        const uint32_t place = adl_unpack_u32(from, ADL_DRIFT_CELLS - 1);
        struct adl_drift_cell *it = &cells->list[place];
        from->failed |= it->key != 0;
        cell(&codec, it);
        from->failed |= it->key == 0 || !adl_drift_cell_fits(it->key, place);
    }
    return from->failed ? adl_fail(err, ADL_EINVAL, "its expected speeds are damaged") : 0;
}

int adl_drift_decode(struct adl_drift *drift, struct adl_unpack *from, const struct adl_translation *to,
                     struct adl_drift_account *ret, struct adl_error *err)
{
    *ret = (struct adl_drift_account){.version = adl_unpack_u32(from, UINT32_MAX)};
    ret->gpus = adl_unpack_u32(from, UINT32_MAX);
    if (from->failed)
        return adl_fail(err, ADL_EINVAL, "its speeds of GPUs are damaged");
    ret->used = drift && ret->version == ADL_DRIFT_BYTES_VERSION && to->same && to->same_time;
    if (!ret->used) {
        from->at = from->end;
        return 0;
    }
    struct codec codec = {.from = from};
    common_fields(&codec, drift);
    int status = decode_gpus(drift, from, ret, err);
    for (int c = 0; c < ADL_DRIFT_CHANNELS && status == 0; c++)
        status = decode_cells(&drift->cells[c], from, err);
    if (status == 0 && !to->same_users)
        forget_users(drift);
    return status;
}
