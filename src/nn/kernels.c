/* kernels: chooses the build of the kernels, and has those that need no separate builds. */
#include "nn/kernels.h"

#include "nn/kernels_builds.h"

#include <assert.h>
#include <string.h>

const struct adl_kernels *adl_kernels_choose(bool fast_allowed)
{
#ifdef ADL_KERNELS_FAST
    if (fast_allowed && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &adl_kernels_fast;
    if (__builtin_cpu_supports("avx2"))
        return &adl_kernels_wide;
#endif
    (void)fast_allowed;
    return &adl_kernels_plain;
}

double adl_huber(ptrdiff_t count, const float *q, const float *target, const float *weight, float delta, float *dq)
{
    double loss = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        const float w = (weight ? weight[i] : 1.0f) / (float)count;
        const float d = q[i] - target[i];
        const float size = d < 0 ? -d : d;
        const float slope = size <= delta ? d : (d < 0 ? -delta : delta);
        loss += (double)w *
                (size <= delta ? 0.5 * (double)d * (double)d : (double)delta * ((double)size - 0.5 * (double)delta));
        dq[i] = w * slope;
    }
    return loss;
}

static void clear_row(float *x, ptrdiff_t row, ptrdiff_t width)
{
    memset(x + row * width, 0, (size_t)width * sizeof *x);
}

void adl_padding_clear(int sequences, const int *offset, ptrdiff_t width, float *x)
{
    for (int s = 0; s <= sequences; s++)
        clear_row(x, (ptrdiff_t)offset[s] + s, width);
}

void adl_padding_insert(int sequences, const int *offset, ptrdiff_t channels, const float *x, float *y)
{
    for (int s = 0; s < sequences; s++)
        if (offset[s + 1] > offset[s]) /* else x may be NULL */
            memcpy(y + adl_padded_row(offset, s) * channels, x + offset[s] * channels,
                   (size_t)((offset[s + 1] - offset[s]) * channels) * sizeof *x);
    adl_padding_clear(sequences, offset, channels, y);
}

void adl_conv3(const struct adl_kernels *kernels, int sequences, const int *offset, ptrdiff_t channels,
               ptrdiff_t panels, const float *x, const float *w, struct adl_product how, float *y)
{
    const ptrdiff_t width = panels * ADL_PANEL;
    kernels->dense(adl_padded_rows(offset, sequences) - 2, 3 * channels, panels, x, channels, w, how, y + width, width);
    adl_padding_clear(sequences, offset, width, y);
}

void adl_conv3_gradient(const struct adl_kernels *kernels, int sequences, const int *offset, ptrdiff_t channels,
                        ptrdiff_t panels, const float *x, const float *dy, float *dw, float *dbias)
{
    const ptrdiff_t width = panels * ADL_PANEL;
    kernels->dense_gradient(adl_padded_rows(offset, sequences) - 2, 3 * channels, panels, x, channels, dy + width,
                            width, dw, dbias);
}

void adl_conv3_transpose(ptrdiff_t channels, ptrdiff_t panels, const float *w, float *wt)
{
    const ptrdiff_t outputs = panels * ADL_PANEL;
    assert(channels % ADL_PANEL == 0);
    /* The gradient flows back along the same taps, so their order is reversed. */
    for (ptrdiff_t c = 0; c < channels; c++)
        for (ptrdiff_t tap = 0; tap < 3; tap++)
            for (ptrdiff_t o = 0; o < outputs; o++) {
                const ptrdiff_t to =
                    (c / ADL_PANEL * 3 * outputs + (2 - tap) * outputs + o) * ADL_PANEL + c % ADL_PANEL;
                const ptrdiff_t from = (o / ADL_PANEL * 3 * channels + tap * channels + c) * ADL_PANEL + o % ADL_PANEL;
                wt[to] = w[from];
            }
}
