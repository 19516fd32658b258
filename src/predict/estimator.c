#include "predict/estimator.h"

#include "base/real.h"
#include "nn/bytes.h"
#include "predict/estimate_initial.h"
#include "predict/estimate_refine.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define MAGIC      "ADLROEST"
#define HEAD_SIZE  40
#define NET_HEAD   (16 + 4 * ADL_ESTIMATOR_QUANTILES)
#define SEAL_SIZE  8
#define SPREAD_LOG 4.0f /* logarithms of spreads are clipped to -4 .. 2 */

void adl_estimator_features(enum adl_estimator_part part, int *ret_facts, int *ret_queries)
{
    static const int features[ADL_ESTIMATOR_PARTS][2] = {
        [ADL_ESTIMATE_INITIAL_RATE] = {ADL_ESTIMATE_INITIAL_RATE_FACTS, ADL_ESTIMATE_INITIAL_RATE_QUERY},
        [ADL_ESTIMATE_INITIAL_SHARE] = {ADL_ESTIMATE_INITIAL_SHARE_FACTS, ADL_ESTIMATE_INITIAL_SHARE_QUERY},
        [ADL_ESTIMATE_REFINE_RATE] = {ADL_ESTIMATE_REFINE_RATE_FACTS, ADL_ESTIMATE_REFINE_RATE_QUERY},
        [ADL_ESTIMATE_REFINE_SHARE] = {ADL_ESTIMATE_REFINE_SHARE_FACTS, ADL_ESTIMATE_REFINE_SHARE_QUERY},
    };
    *ret_facts = features[part][0];
    *ret_queries = features[part][1];
}

float *adl_estimator_params(const struct adl_estimator *estimator, enum adl_estimator_part part, int member)
{
    return estimator->params[part] + estimator->nets[part].parameter_count * (size_t)member;
}

size_t adl_estimator_param_count(const struct adl_estimator *estimator, enum adl_estimator_part part)
{
    return estimator->nets[part].parameter_count * (size_t)adl_estimator_members(part);
}

int adl_estimator_create(const enum adl_setnet_form forms[ADL_ESTIMATOR_PARTS], int width, struct adl_estimator **ret,
                         struct adl_error *err)
{
    struct adl_estimator *e = calloc(1, sizeof *e);
    if (!e)
        return adl_fail(err, ADL_ENOMEM, "out of memory for the estimator");
    int status = 0;
    for (int part = 0; part < ADL_ESTIMATOR_PARTS && !status; part++) {
        struct adl_setnet_shape shape = {.form = forms[part], .width = width};
        adl_estimator_features((enum adl_estimator_part)part, &shape.fact_features, &shape.query_features);
        status = adl_setnet_make(&shape, adl_kernels_choose(false), &e->nets[part], err);
        if (!status)
            status = adl_setnet_workspace_create(&e->nets[part], ADL_ESTIMATOR_BATCH,
                                                 ADL_ESTIMATOR_BATCH * ADL_INPUT_FACTS_MAX, &e->workspaces[part], err);
        if (!status &&
            !(e->params[part] = calloc(adl_estimator_param_count(e, (enum adl_estimator_part)part), sizeof(float))))
            status = adl_fail(err, ADL_ENOMEM, "out of memory for the estimator's parameters");
        for (int q = 0; q < ADL_ESTIMATOR_QUANTILES; q++)
            e->quantiles[part][q] = 2.302585f; /* of a Laplace distribution: ln 10 */
    }
    e->facts = calloc((size_t)ADL_ESTIMATOR_BATCH * ADL_INPUT_FACTS_MAX * ADL_FACT_FEATURES, sizeof(float));
    e->queries = calloc((size_t)ADL_ESTIMATOR_BATCH * ADL_QUERY_FEATURES, sizeof(float));
    e->outputs = calloc((size_t)ADL_ESTIMATOR_BATCH * ADL_SETNET_OUTPUTS, sizeof(float));
    if (!status && (!e->facts || !e->queries || !e->outputs))
        status = adl_fail(err, ADL_ENOMEM, "out of memory for the estimator's inputs");
    if (status)
        adl_estimator_destroy(e);
    else
        *ret = e;
    return status;
}

void adl_estimator_destroy(struct adl_estimator *estimator)
{
    if (!estimator)
        return;
    for (int part = 0; part < ADL_ESTIMATOR_PARTS; part++) {
        adl_setnet_workspace_destroy(estimator->workspaces[part]);
        free(estimator->params[part]);
    }
    free(estimator->facts);
    free(estimator->queries);
    free(estimator->outputs);
    free(estimator);
}

/* ---- bytes ---- */

void adl_estimator_encode(const struct adl_estimator *estimator, struct adl_text *ret)
{
    const size_t start = ret->size;
    size_t size = HEAD_SIZE + SEAL_SIZE;
    for (int part = 0; part < ADL_ESTIMATOR_PARTS; part++)
        size += NET_HEAD + adl_estimator_param_count(estimator, (enum adl_estimator_part)part) * sizeof(float);
    adl_text_put(ret, MAGIC);
    adl_bytes_put_u32(ret, ADL_ESTIMATOR_VERSION);
    adl_bytes_put_u32(ret, ADL_ESTIMATOR_PARTS);
    adl_bytes_put_u64(ret, size);
    adl_bytes_put_u64(ret, estimator->seed);
    adl_bytes_put_u64(ret, estimator->examples);
    for (int part = 0; part < ADL_ESTIMATOR_PARTS; part++) {
        const struct adl_setnet *net = &estimator->nets[part];
        adl_bytes_put_u32(ret, (uint32_t)net->shape.form);
        adl_bytes_put_u32(ret, (uint32_t)net->shape.fact_features);
        adl_bytes_put_u32(ret, (uint32_t)net->shape.query_features);
        adl_bytes_put_u32(ret, (uint32_t)net->shape.width);
        adl_bytes_put_floats(ret, estimator->quantiles[part], ADL_ESTIMATOR_QUANTILES);
        adl_bytes_put_floats(ret, estimator->params[part],
                             adl_estimator_param_count(estimator, (enum adl_estimator_part)part));
    }
    if (adl_text_status(ret) == 0)
        adl_bytes_put_u64(ret, adl_bytes_checksum(ret->data + start, ret->size - start));
}

static int check_frame(const unsigned char *bytes, size_t size, struct adl_error *err)
{
    if (size < HEAD_SIZE + SEAL_SIZE || memcmp(bytes, MAGIC, 8) != 0)
        return adl_fail(err, ADL_EINVAL, "not an estimator's model: its file begins with %s", MAGIC);
    const uint32_t version = adl_bytes_u32(bytes + 8), parts = adl_bytes_u32(bytes + 12);
    if (version != ADL_ESTIMATOR_VERSION || parts != ADL_ESTIMATOR_PARTS)
        return adl_fail(err, ADL_EINVAL,
                        "it is an estimator of version %" PRIu32 " with %" PRIu32
                        " networks; this program reads version %d with %d: train it again",
                        version, parts, ADL_ESTIMATOR_VERSION, ADL_ESTIMATOR_PARTS);
    const uint64_t whole = adl_bytes_u64(bytes + 16);
    if (whole != size)
        return adl_fail(err, ADL_EINVAL, "it has %zu bytes and should have %" PRIu64 ": %s", size, whole,
                        size < whole ? "it was cut off" : "something was added");
    if (adl_bytes_checksum(bytes, size - SEAL_SIZE) != adl_bytes_u64(bytes + size - SEAL_SIZE))
        return adl_fail(err, ADL_EINVAL, "its checksum is wrong: bytes were changed after it was written");
    return 0;
}

/* The head of the network at *at, which moves to its parameters. */
static int read_head(const unsigned char *bytes, size_t end, size_t *at, int part, struct adl_setnet_shape *ret,
                     float *ret_quantiles, struct adl_error *err)
{
    int facts, queries;
    if (end - *at < NET_HEAD)
        return adl_fail(err, ADL_EINVAL, "its network %d is missing", part);
    const uint32_t form = adl_bytes_u32(bytes + *at), width = adl_bytes_u32(bytes + *at + 12);
    adl_estimator_features((enum adl_estimator_part)part, &facts, &queries);
    if (adl_bytes_u32(bytes + *at + 4) != (uint32_t)facts || adl_bytes_u32(bytes + *at + 8) != (uint32_t)queries)
        return adl_fail(err, ADL_EINVAL,
                        "its network %d was trained on %" PRIu32 " and %" PRIu32
                        " features; this program has %d and %d: train it again",
                        part, adl_bytes_u32(bytes + *at + 4), adl_bytes_u32(bytes + *at + 8), facts, queries);
    if (form >= ADL_SETNET_FORM_COUNT || width > ADL_SETNET_WIDTH_MAX)
        return adl_fail(err, ADL_EINVAL, "its network %d has form %" PRIu32 " and width %" PRIu32 ": there is none",
                        part, form, width);
    *ret = (struct adl_setnet_shape){(enum adl_setnet_form)form, facts, queries, (int)width};
    adl_bytes_floats(bytes + *at + 16, ADL_ESTIMATOR_QUANTILES, ret_quantiles);
    for (int q = 0; q < ADL_ESTIMATOR_QUANTILES; q++)
        if (!(ret_quantiles[q] > 0 && ret_quantiles[q] < 1e6f))
            return adl_fail(err, ADL_EINVAL, "quantile %d of its network %d must be between 0 and 1e6", q, part);
    *at += NET_HEAD;
    return 0;
}

static int read_net(const unsigned char *bytes, size_t end, size_t *at, int part, struct adl_estimator *e,
                    struct adl_error *err)
{
    const size_t count = adl_estimator_param_count(e, (enum adl_estimator_part)part);
    if ((end - *at) / sizeof(float) < count)
        return adl_fail(err, ADL_EINVAL, "its network %d has %zu parameters, and %zu bytes are left", part, count,
                        end - *at);
    adl_bytes_floats(bytes + *at, count, e->params[part]);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(e->params[part][i]) < 1e6f))
            return adl_fail(err, ADL_EINVAL, "parameter %zu of its network %d must be between -1e6 and 1e6", i, part);
    *at += count * sizeof(float);
    return 0;
}

/* The forms are read first because they tell the size of each network. */
static int read_forms(const unsigned char *bytes, size_t end, enum adl_setnet_form *ret_forms, int *ret_width,
                      struct adl_error *err)
{
    size_t at = HEAD_SIZE;
    for (int part = 0; part < ADL_ESTIMATOR_PARTS; part++) {
        struct adl_setnet_shape shape = {.width = 0};
        struct adl_setnet net = {.parameter_count = 0};
        float quantiles[ADL_ESTIMATOR_QUANTILES];
        int status = read_head(bytes, end, &at, part, &shape, quantiles, err);
        if (!status)
            status = adl_setnet_make(&shape, NULL, &net, err);
        if (status)
            return status;
        if (part > 0 && shape.width != *ret_width)
            return adl_fail(err, ADL_EINVAL, "its networks have widths %d and %d: they must be equal", *ret_width,
                            shape.width);
        const size_t count = net.parameter_count * (size_t)adl_estimator_members((enum adl_estimator_part)part);
        if ((end - at) / sizeof(float) < count)
            return adl_fail(err, ADL_EINVAL, "its network %d has %zu parameters, and %zu bytes are left", part, count,
                            end - at);
        at += count * sizeof(float);
        ret_forms[part] = shape.form;
        *ret_width = shape.width;
    }
    if (at != end)
        return adl_fail(err, ADL_EINVAL, "bytes follow its last network");
    return 0;
}

int adl_estimator_decode(const void *bytes, size_t size, struct adl_estimator **ret, struct adl_error *err)
{
    enum adl_setnet_form forms[ADL_ESTIMATOR_PARTS] = {ADL_SETNET_POOL};
    struct adl_estimator *e = NULL;
    size_t at = HEAD_SIZE;
    int width = 0, status = check_frame(bytes, size, err);
    if (!status)
        status = read_forms(bytes, size - SEAL_SIZE, forms, &width, err);
    if (!status)
        status = adl_estimator_create(forms, width, &e, err);
    assert(status || e);
    for (int part = 0; part < ADL_ESTIMATOR_PARTS && !status; part++) {
        struct adl_setnet_shape shape;
        status = read_head(bytes, size - SEAL_SIZE, &at, part, &shape, e->quantiles[part], err);
        if (!status)
            status = read_net(bytes, size - SEAL_SIZE, &at, part, e, err);
    }
    if (status) {
        adl_estimator_destroy(e);
        return status;
    }
    e->seed = adl_bytes_u64((const unsigned char *)bytes + 24);
    e->examples = adl_bytes_u64((const unsigned char *)bytes + 32);
    *ret = e;
    return 0;
}

/* ---- predictions ---- */

double adl_estimator_spread(float log_spread)
{
    const float low = -SPREAD_LOG, high = SPREAD_LOG / 2;
    return adl_exp((double)(log_spread < low ? low : log_spread > high ? high : log_spread));
}

void adl_estimator_predict(struct adl_estimator *estimator, enum adl_estimator_part part,
                           const struct adl_estimator_input *inputs, int count, struct adl_prediction *ret)
{
    const struct adl_setnet *net = &estimator->nets[part];
    const size_t facts = (size_t)net->shape.fact_features, queries = (size_t)net->shape.query_features;
    int offset[ADL_ESTIMATOR_BATCH + 1] = {0};
    assert(count <= ADL_ESTIMATOR_BATCH);
    for (int i = 0; i < count; i++) {
        for (int f = 0; f < inputs[i].fact_count; f++)
            memcpy(estimator->facts + (size_t)(offset[i] + f) * facts, inputs[i].facts[f], facts * sizeof(float));
        memcpy(estimator->queries + (size_t)i * queries, inputs[i].query, queries * sizeof(float));
        offset[i + 1] = offset[i] + inputs[i].fact_count;
    }
    const struct adl_setnet_batch batch = {count, offset, estimator->facts, estimator->queries};
    const int members = adl_estimator_members(part);
    for (int i = 0; i < count; i++)
        ret[i] = (struct adl_prediction){(float)inputs[i].base, 0};
    for (int m = 0; m < members; m++) {
        adl_setnet_forward(net, adl_estimator_params(estimator, part, m), &batch, estimator->workspaces[part],
                           estimator->outputs);
        for (int i = 0; i < count; i++) {
            const float *output = &estimator->outputs[(size_t)i * ADL_SETNET_OUTPUTS];
            ret[i].mean += output[0] / (float)members;
            ret[i].spread += (float)(adl_estimator_spread(output[1]) / members);
        }
    }
}

double adl_estimator_half(const struct adl_estimator *estimator, enum adl_estimator_part part, int facts, double spread)
{
    const int bucket = facts <= 1 ? 0 : facts >= ADL_ESTIMATOR_QUANTILES ? ADL_ESTIMATOR_QUANTILES - 1 : facts - 1;
    return (double)estimator->quantiles[part][bucket] * spread;
}
