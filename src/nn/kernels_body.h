/* kernels_body: the kernels, included by one file for each build, which defines the LANES of a vector, the ROWS of a
 * tile of the product, the number of WIDE panels, and the name of the TABLE; the defaults suit any processor.
 *
 * Tiling makes it fast: ROWS x 16 sums stay in registers while the inputs stream by, one multiply-add each. */
#ifndef ADLRO_NN_KERNELS_BODY_H
#define ADLRO_NN_KERNELS_BODY_H

#include "nn/kernels_builds.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#ifndef TABLE
#define LANES 4
#define ROWS  3 /* x 16 columns = 12 of the 16 vector registers */
#define WIDE  2
#define NAME  "plain"
#define TABLE adl_kernels_plain
#endif

#define VECS         (ADL_PANEL / LANES)
#define WIDE_VECS    ((ptrdiff_t)WIDE * VECS)
#define FORCE_INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t mask __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef float quad __attribute__((vector_size(4 * sizeof(float))));

FORCE_INLINE vec load(const float *at)
{
    vec v;
    memcpy(&v, at, sizeof v); /* any alignment */
    return v;
}

FORCE_INLINE void store(float *at, vec v)
{
    memcpy(at, &v, sizeof v);
}

FORCE_INLINE vec zero(void)
{
    return (vec){0};
}

/* a where a > b, else `rest`: a comparison gives all bits or none of each lane. */
FORCE_INLINE vec above(vec a, vec b, vec rest)
{
    const mask taken = a > b;
    return (vec)(((mask)a & taken) | ((mask)rest & ~taken));
}

/* ---- the product ---- */

/* The left side of a tile: element k of row r is at[r * row_step + k * depth_step]. */
struct left {
    const float *at;
    ptrdiff_t row_step, depth_step;
};

/* c (rows, 16) = a . b (depth, 16). Every sum runs over depth in order, in a register of its own, whatever the number
 * of rows. */
FORCE_INLINE void tile(const int rows, ptrdiff_t depth, struct left a, const float *restrict b, ptrdiff_t b_step,
                       struct adl_product how, float *restrict c, ptrdiff_t ldc)
{
    vec sum[ROWS][VECS];
    for (int r = 0; r < rows; r++)
        for (ptrdiff_t j = 0; j < VECS; j++)
            sum[r][j] = how.accumulate ? load(c + r * ldc + j * LANES) : how.bias ? load(how.bias + j * LANES) : zero();
    for (ptrdiff_t k = 0; k < depth; k++) {
        vec right[VECS];
        for (ptrdiff_t j = 0; j < VECS; j++)
            right[j] = load(b + k * b_step + j * LANES);
        for (int r = 0; r < rows; r++) {
            const float left = a.at[r * a.row_step + k * a.depth_step];
            for (ptrdiff_t j = 0; j < VECS; j++)
                sum[r][j] += left * right[j];
        }
    }
    for (int r = 0; r < rows; r++)
        for (ptrdiff_t j = 0; j < VECS; j++)
            store(c + r * ldc + j * LANES, how.relu ? above(sum[r][j], zero(), zero()) : sum[r][j]);
}

/* The last rows, fewer than a tile has. */
FORCE_INLINE void tile_rest(ptrdiff_t rows, ptrdiff_t depth, struct left a, const float *b, ptrdiff_t b_step,
                            struct adl_product how, float *c, ptrdiff_t ldc)
{
    switch (rows) {
#if ROWS > 3
    case 5:
        tile(5, depth, a, b, b_step, how, c, ldc);
        break;
    case 4:
        tile(4, depth, a, b, b_step, how, c, ldc);
        break;
    case 3:
        tile(3, depth, a, b, b_step, how, c, ldc);
        break;
#endif
    case 2:
        tile(2, depth, a, b, b_step, how, c, ldc);
        break;
    case 1:
        tile(1, depth, a, b, b_step, how, c, ldc);
        break;
    default:
        break;
    }
}

/* One row and WIDE panels side by side: the sums of a single panel would depend on each other. */
FORCE_INLINE void wide_row(ptrdiff_t inputs, const float *restrict x, const float *restrict w, struct adl_product how,
                           float *restrict y)
{
    vec sum[WIDE_VECS];
    for (ptrdiff_t j = 0; j < WIDE_VECS; j++)
        sum[j] = how.accumulate ? load(y + j * LANES) : how.bias ? load(how.bias + j * LANES) : zero();
    for (ptrdiff_t k = 0; k < inputs; k++)
        for (ptrdiff_t j = 0; j < WIDE_VECS; j++)
            sum[j] += x[k] * load(w + (j / VECS * inputs + k) * ADL_PANEL + j % VECS * LANES);
    for (ptrdiff_t j = 0; j < WIDE_VECS; j++)
        store(y + j * LANES, how.relu ? above(sum[j], zero(), zero()) : sum[j]);
}

static void dense_row(ptrdiff_t inputs, ptrdiff_t panels, const float *x, const float *w, struct adl_product how,
                      float *y)
{
    for (ptrdiff_t p = 0; p < panels;) {
        struct adl_product here = how;
        if (how.bias)
            here.bias = how.bias + p * ADL_PANEL;
        const float *from = w + p * inputs * ADL_PANEL;
        if (p + WIDE <= panels) {
            wide_row(inputs, x, from, here, y + p * ADL_PANEL);
            p += WIDE;
        } else {
            tile(1, inputs, (struct left){x, inputs, 1}, from, ADL_PANEL, here, y + p * ADL_PANEL, ADL_PANEL);
            p++;
        }
    }
}

static void dense(ptrdiff_t rows, ptrdiff_t inputs, ptrdiff_t panels, const float *x, ptrdiff_t ldx, const float *w,
                  struct adl_product how, float *y, ptrdiff_t ldy)
{
    assert(!(how.accumulate && how.bias) && ldy >= panels * ADL_PANEL);
    if (rows > 0 && rows % ROWS == 1) {
        rows--;
        dense_row(inputs, panels, x + rows * ldx, w, how, y + rows * ldy);
    }
    for (ptrdiff_t p = 0; p < panels; p++) {
        const float *panel = w + p * inputs * ADL_PANEL;
        float *out = y + p * ADL_PANEL;
        struct adl_product here = how;
        if (how.bias)
            here.bias = how.bias + p * ADL_PANEL;
        ptrdiff_t r = 0;
        for (; r + ROWS <= rows; r += ROWS)
            tile(ROWS, inputs, (struct left){x + r * ldx, ldx, 1}, panel, ADL_PANEL, here, out + r * ldy, ldy);
        tile_rest(rows - r, inputs, (struct left){x + r * ldx, ldx, 1}, panel, ADL_PANEL, here, out + r * ldy, ldy);
    }
}

static void sum_rows_into(ptrdiff_t rows, ptrdiff_t width, const float *x, ptrdiff_t ldx, bool accumulate, float *y)
{
    for (ptrdiff_t c = 0; c < width; c += LANES) {
        vec sum = accumulate ? load(y + c) : zero();
        for (ptrdiff_t r = 0; r < rows; r++)
            sum += load(x + r * ldx + c);
        store(y + c, sum);
    }
}

static void dense_gradient(ptrdiff_t rows, ptrdiff_t inputs, ptrdiff_t panels, const float *x, ptrdiff_t ldx,
                           const float *dy, ptrdiff_t ldy, float *dw, float *dbias)
{
    const ptrdiff_t block = 96; /* rows whose x and dy stay in the cache while every tile of dw takes them in */
    const struct adl_product add = {.accumulate = true};
    for (ptrdiff_t first = 0; first < rows; first += block) {
        const ptrdiff_t count = rows - first < block ? rows - first : block;
        const float *left = x + first * ldx;
        for (ptrdiff_t p = 0; p < panels; p++) {
            const float *right = dy + first * ldy + p * ADL_PANEL;
            float *out = dw + p * inputs * ADL_PANEL;
            ptrdiff_t k = 0;
            for (; k + ROWS <= inputs; k += ROWS)
                tile(ROWS, count, (struct left){left + k, 1, ldx}, right, ldy, add, out + k * ADL_PANEL, ADL_PANEL);
            tile_rest(inputs - k, count, (struct left){left + k, 1, ldx}, right, ldy, add, out + k * ADL_PANEL,
                      ADL_PANEL);
        }
    }
    if (dbias)
        sum_rows_into(rows, panels * ADL_PANEL, dy, ldy, true, dbias);
}

FORCE_INLINE void transpose_4x4(const float *from, float *to)
{
    quad a[4], lo, hi, lo2, hi2;
    for (ptrdiff_t i = 0; i < 4; i++)
        memcpy(&a[i], from + i * ADL_PANEL, sizeof a[i]);
    lo = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5);
    hi = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7);
    lo2 = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5);
    hi2 = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
    a[0] = __builtin_shufflevector(lo, lo2, 0, 1, 4, 5);
    a[1] = __builtin_shufflevector(lo, lo2, 2, 3, 6, 7);
    a[2] = __builtin_shufflevector(hi, hi2, 0, 1, 4, 5);
    a[3] = __builtin_shufflevector(hi, hi2, 2, 3, 6, 7);
    for (ptrdiff_t i = 0; i < 4; i++)
        memcpy(to + i * ADL_PANEL, &a[i], sizeof a[i]);
}

static void transpose(ptrdiff_t inputs, ptrdiff_t panels, const float *w, float *wt)
{
    const ptrdiff_t outputs = panels * ADL_PANEL;
    for (ptrdiff_t q = 0; q < adl_panels(inputs); q++)
        for (ptrdiff_t p = 0; p < panels; p++) {
            const float *from = w + (p * inputs + q * ADL_PANEL) * ADL_PANEL;
            float *to = wt + (q * outputs + p * ADL_PANEL) * ADL_PANEL;
            const ptrdiff_t rest = inputs - q * ADL_PANEL;
            if (rest >= ADL_PANEL) {
                for (ptrdiff_t i = 0; i < ADL_PANEL; i += 4)
                    for (ptrdiff_t j = 0; j < ADL_PANEL; j += 4)
                        transpose_4x4(from + i * ADL_PANEL + j, to + j * ADL_PANEL + i);
                continue;
            }
            for (ptrdiff_t j = 0; j < ADL_PANEL; j++)
                for (ptrdiff_t i = 0; i < ADL_PANEL; i++)
                    to[j * ADL_PANEL + i] = i < rest ? from[i * ADL_PANEL + j] : 0;
        }
}

/* ---- one output ---- */

static void dot(ptrdiff_t rows, ptrdiff_t inputs, const float *x, ptrdiff_t ldx, const float *w, const float *bias,
                float *y)
{
    assert(inputs % ADL_PANEL == 0);
    for (ptrdiff_t r = 0; r < rows; r++) {
        vec sum[VECS] = {zero()}; /* sixteen sums however wide a vector is: the same bits in every build */
        for (ptrdiff_t k = 0; k < inputs; k += ADL_PANEL)
            for (ptrdiff_t j = 0; j < VECS; j++)
                sum[j] += load(x + r * ldx + k + j * LANES) * load(w + k + j * LANES);
        float total = *bias;
        for (int i = 0; i < ADL_PANEL; i++)
            total += sum[i / LANES][i % LANES];
        y[r] = total;
    }
}

static void dot_gradient(ptrdiff_t rows, ptrdiff_t inputs, const float *x, ptrdiff_t ldx, const float *w,
                         const float *dy, float *dx, float *dw, float *dbias)
{
    assert(inputs % ADL_PANEL == 0);
    for (ptrdiff_t r = 0; r < rows; r++) {
        for (ptrdiff_t k = 0; k < inputs; k += LANES) {
            store(dx + r * inputs + k, dy[r] * load(w + k));
            store(dw + k, load(dw + k) + dy[r] * load(x + r * ldx + k));
        }
        *dbias += dy[r];
    }
}

/* ---- element by element ---- */

static void relu(ptrdiff_t count, float *x)
{
    for (ptrdiff_t i = 0; i < count; i++)
        x[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_gradient(ptrdiff_t count, const float *restrict y, float *restrict dy)
{
    for (ptrdiff_t i = 0; i < count; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
}

/* ---- sequences to one row ---- */

static void pool(ptrdiff_t rows, ptrdiff_t width, const float *x, float *mean, float *max)
{
    assert(width % ADL_PANEL == 0);
    const float share = rows > 0 ? 1.0f / (float)rows : 0;
    for (ptrdiff_t c = 0; c < width; c += LANES) {
        vec sum = zero();
        vec most = rows > 0 ? load(x + c) : zero();
        for (ptrdiff_t r = 0; r < rows; r++) {
            const vec here = load(x + r * width + c);
            sum += here;
            most = above(here, most, most);
        }
        store(mean + c, sum * share);
        store(max + c, most);
    }
}

static void pool_gradient(ptrdiff_t rows, ptrdiff_t width, const float *x, const float *max, const float *dmean,
                          const float *dmax, float *dx)
{
    const float share = rows > 0 ? 1.0f / (float)rows : 0;
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t c = 0; c < width; c += LANES)
            store(dx + r * width + c, load(dx + r * width + c) + share * load(dmean + c));
    for (ptrdiff_t c = 0; c < width; c++)
        for (ptrdiff_t r = 0; r < rows; r++)
            if (x[r * width + c] == max[c]) {
                dx[r * width + c] += dmax[c];
                break;
            }
}

static void gather_mean(ptrdiff_t count, const int *list, ptrdiff_t width, const float *x, float *y)
{
    assert(width % ADL_PANEL == 0);
    const float share = count > 0 ? 1.0f / (float)count : 0;
    for (ptrdiff_t c = 0; c < width; c += LANES) {
        vec sum = zero();
        for (ptrdiff_t i = 0; i < count; i++)
            sum += load(x + list[i] * width + c);
        store(y + c, sum * share);
    }
}

static void gather_mean_gradient(ptrdiff_t count, const int *list, ptrdiff_t width, const float *dy, float *dx)
{
    const float share = count > 0 ? 1.0f / (float)count : 0;
    for (ptrdiff_t i = 0; i < count; i++)
        for (ptrdiff_t c = 0; c < width; c += LANES) {
            float *at = dx + list[i] * width + c;
            store(at, load(at) + share * load(dy + c));
        }
}

static void sum_rows(ptrdiff_t rows, ptrdiff_t width, const float *x, ptrdiff_t ldx, float *y)
{
    assert(width % ADL_PANEL == 0);
    sum_rows_into(rows, width, x, ldx, false, y);
}

/* ---- the optimizer ---- */

static double sum_squares(ptrdiff_t count, const float *x)
{
    double part[8] = {0}; /* side by side, so that additions are independent */
    ptrdiff_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (ptrdiff_t j = 0; j < 8; j++)
            part[j] += (double)x[i + j] * (double)x[i + j];
    for (; i < count; i++)
        part[0] += (double)x[i] * (double)x[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

static void adam(ptrdiff_t count, struct adl_adam_rates rates, const float *restrict grads, float *restrict first,
                 float *restrict second, float *restrict params)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        const float g = grads[i] * rates.grad_scale;
        first[i] = rates.beta1 * first[i] + (1 - rates.beta1) * g;
        second[i] = rates.beta2 * second[i] + (1 - rates.beta2) * g * g;
        params[i] -= rates.step * first[i] / (sqrtf(second[i]) + rates.epsilon);
    }
}

const struct adl_kernels TABLE = {
    .name = NAME,
    .dense = dense,
    .dense_gradient = dense_gradient,
    .transpose = transpose,
    .dot = dot,
    .dot_gradient = dot_gradient,
    .relu = relu,
    .relu_gradient = relu_gradient,
    .pool = pool,
    .pool_gradient = pool_gradient,
    .gather_mean = gather_mean,
    .gather_mean_gradient = gather_mean_gradient,
    .sum_rows = sum_rows,
    .sum_squares = sum_squares,
    .adam = adam,
};

#endif
