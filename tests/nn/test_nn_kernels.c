/* Every kernel, of all builds, against plain loops in double precision. */
#include "nn_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double got, double wanted, double scale)
{
    if (!(fabs(got - wanted) <= 1e-4 * (fabs(wanted) + scale)))
        fail_msg("%.9g instead of %.9g", got, wanted);
}

static const int sizes[][3] = {{1, 1, 1},    {2, 3, 17},  {5, 36, 16}, {6, 96, 32},  {7, 48, 16},
                               {13, 40, 64}, {31, 5, 33}, {300, 7, 2}, {64, 18, 128}};
#define SIZE_COUNT (sizeof sizes / sizeof *sizes)

static void check_dense(const struct adl_kernels *k, struct adl_rng *rng, int rows, int inputs, int outputs, int mode)
{
    const ptrdiff_t panels = adl_panels(outputs), ldy = panels * ADL_PANEL + 16, ldx = inputs + 3;
    float *x = random_numbers(rng, (size_t)(rows * ldx)), *w = random_panels(rng, inputs, outputs);
    float *bias = random_numbers(rng, (size_t)ldy), *y = random_numbers(rng, (size_t)(rows * ldy));
    float *before = nn_numbers((size_t)(rows * ldy));
    memcpy(before, y, (size_t)(rows * ldy) * sizeof *y);
    const struct adl_product how = {
        .bias = mode == 1 ? bias : NULL, .accumulate = mode == 2, .relu = mode == 1 || mode == 2};
    k->dense(rows, inputs, panels, x, ldx, w, how, y, ldy);
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < ldy; o++) {
            double sum = mode == 1 ? (double)bias[o] : mode == 2 ? (double)before[r * ldy + o] : 0;
            for (int i = 0; i < inputs && o < panels * ADL_PANEL; i++)
                sum += (double)x[r * ldx + i] * (double)w[panel_index(inputs, i, o)];
            if (o >= panels * ADL_PANEL)
                assert_true(y[r * ldy + o] == before[r * ldy + o]); /* not its own */
            else
                assert_near((double)y[r * ldy + o], how.relu && sum < 0 ? 0 : sum, 1);
        }
    free(x), free(w), free(bias), free(y), free(before);
}

static void dense_agrees_with_the_reference(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 1, "dense");
    for (size_t b = 0; b < BUILD_COUNT; b++)
        for (size_t s = 0; s < SIZE_COUNT; s++)
            for (int mode = 0; mode < 3; mode++)
                check_dense(build_at(b), &rng, sizes[s][0], sizes[s][1], sizes[s][2], mode);
}

static void dense_gradient_agrees_with_the_reference(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 2, "dense");
    for (size_t s = 0; s < SIZE_COUNT * BUILD_COUNT; s++) {
        const struct adl_kernels *k = build_at(s % BUILD_COUNT);
        const int rows = sizes[s / BUILD_COUNT][0], inputs = sizes[s / BUILD_COUNT][1],
                  outputs = sizes[s / BUILD_COUNT][2];
        const ptrdiff_t panels = adl_panels(outputs), width = panels * ADL_PANEL;
        float *x = random_numbers(&rng, nn_area(rows, inputs)), *dy = random_numbers(&rng, (size_t)(rows * width));
        float *dw = nn_numbers((size_t)(inputs * width)), *dbias = nn_numbers((size_t)width);
        for (ptrdiff_t i = 0; i < inputs * width; i++)
            dw[i] = 1;
        k->dense_gradient(rows, inputs, panels, x, inputs, dy, width, dw, dbias);
        for (int o = 0; o < width; o++) {
            double bias = 0;
            for (int r = 0; r < rows; r++)
                bias += (double)dy[r * width + o];
            assert_near((double)dbias[o], bias, 1);
            for (int i = 0; i < inputs; i++) {
                double sum = 1;
                for (int r = 0; r < rows; r++)
                    sum += (double)x[r * inputs + i] * (double)dy[r * width + o];
                assert_near((double)dw[panel_index(inputs, i, o)], sum, 1);
            }
        }
        free(x), free(dy), free(dw), free(dbias);
    }
}

static void transpose_is_the_transpose(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 3, "transpose");
    for (size_t s = 0; s < SIZE_COUNT * BUILD_COUNT; s++) {
        const int inputs = sizes[s / BUILD_COUNT][1], outputs = (int)adl_panels(sizes[s / BUILD_COUNT][2]) * ADL_PANEL;
        const int padded = (int)adl_panels(inputs) * ADL_PANEL;
        float *w = random_panels(&rng, inputs, outputs), *wt = random_numbers(&rng, nn_area(padded, outputs));
        build_at(s % BUILD_COUNT)->transpose(inputs, outputs / ADL_PANEL, w, wt);
        for (int i = 0; i < padded; i++)
            for (int o = 0; o < outputs; o++)
                assert_true(wt[panel_index(outputs, o, i)] == (i < inputs ? w[panel_index(inputs, i, o)] : 0));
        free(w), free(wt);
    }
}

static void dot_and_its_gradient_agree_with_the_reference(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 4, "dot");
    for (size_t b = 0; b < BUILD_COUNT; b++) {
        const int rows = 11, inputs = 48;
        float *x = random_numbers(&rng, 11 * 48), *w = random_numbers(&rng, 48), *dy = random_numbers(&rng, 11);
        float bias = 0.5f, dbias = 1, y[11], dx[11 * 48], dw[48] = {0};
        double total = 1;
        build_at(b)->dot(rows, inputs, x, inputs, w, &bias, y);
        build_at(b)->dot_gradient(rows, inputs, x, inputs, w, dy, dx, dw, &dbias);
        for (int r = 0; r < rows; r++) {
            double sum = 0.5;
            for (int i = 0; i < inputs; i++)
                sum += (double)x[r * inputs + i] * (double)w[i];
            assert_near((double)y[r], sum, 1);
            total += (double)dy[r];
        }
        assert_near((double)dbias, total, 1);
        for (int i = 0; i < inputs; i++) {
            double sum = 0;
            for (int r = 0; r < rows; r++) {
                sum += (double)x[r * inputs + i] * (double)dy[r];
                assert_near((double)dx[r * inputs + i], (double)dy[r] * (double)w[i], 0);
            }
            assert_near((double)dw[i], sum, 1);
        }
        free(x), free(w), free(dy);
    }
}

/* Sequences of several lengths, one of them empty. */
static const int offset[] = {0, 1, 1, 6, 8, 24};
#define SEQUENCES 5
#define ROWS      (24 + SEQUENCES + 1)

static double window(const float *x, int channels, int sequence, int at, int tap, int channel)
{
    const int from = at + tap - 1, length = offset[sequence + 1] - offset[sequence];
    return from < 0 || from >= length ? 0 : (double)x[(offset[sequence] + from) * channels + channel];
}

static void convolution_agrees_with_the_reference_and_keeps_its_padding_zero(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 5, "conv");
    const int channels[] = {1, 12, 16};
    for (size_t b = 0; b < 3 * BUILD_COUNT; b++) {
        const int width = channels[b / BUILD_COUNT];
        float *x = random_numbers(&rng, nn_area(24, width)), *w = random_panels(&rng, 3 * width, 32);
        float *bias = random_numbers(&rng, 32), *padded = random_numbers(&rng, nn_area(ROWS, width));
        float *y = random_numbers(&rng, ROWS * 32);
        adl_padding_insert(SEQUENCES, offset, width, x, padded);
        adl_conv3(build_at(b % BUILD_COUNT), SEQUENCES, offset, width, 2, padded, w, (struct adl_product){.bias = bias},
                  y);
        for (int s = 0; s < SEQUENCES; s++)
            for (int g = 0; g < offset[s + 1] - offset[s]; g++)
                for (int o = 0; o < 32; o++) {
                    double sum = (double)bias[o];
                    for (int i = 0; i < 3 * width; i++)
                        sum += window(x, width, s, g, i / width, i % width) * (double)w[panel_index(3 * width, i, o)];
                    assert_near((double)y[(adl_padded_row(offset, s) + g) * 32 + o], sum, 1);
                }
        for (int s = 0; s <= SEQUENCES; s++)
            for (int o = 0; o < 32; o++)
                assert_true(y[(offset[s] + s) * 32 + o] == 0);
        free(x), free(w), free(bias), free(padded), free(y);
    }
}

/* <dy, conv(x)> must be <conv'(dy), x> for the transposed weights, whatever x and dy are. */
static void transposed_convolution_is_the_adjoint(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 6, "conv");
    for (size_t b = 0; b < BUILD_COUNT; b++) {
        float *x = random_numbers(&rng, 24 * 16), *dy = random_numbers(&rng, 24 * 32);
        float *w = random_panels(&rng, 48, 32), *wt = nn_numbers(48 * 32);
        float *xp = nn_numbers(ROWS * 16), *dyp = nn_numbers(ROWS * 32), *y = nn_numbers(ROWS * 32),
              *dx = nn_numbers(ROWS * 16);
        const struct adl_product plain = {0};
        double forward = 0, backward = 0;
        adl_padding_insert(SEQUENCES, offset, 16, x, xp);
        adl_padding_insert(SEQUENCES, offset, 32, dy, dyp);
        adl_conv3_transpose(16, 2, w, wt);
        adl_conv3(build_at(b), SEQUENCES, offset, 16, 2, xp, w, plain, y);
        adl_conv3(build_at(b), SEQUENCES, offset, 32, 1, dyp, wt, plain, dx);
        for (int i = 0; i < ROWS * 32; i++)
            forward += (double)y[i] * (double)dyp[i];
        for (int i = 0; i < ROWS * 16; i++)
            backward += (double)dx[i] * (double)xp[i];
        assert_near(backward, forward, 1);
        free(x), free(dy), free(w), free(wt), free(xp), free(dyp), free(y), free(dx);
    }
}

static void pooling_agrees_with_the_reference(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 7, "pool");
    for (int rows = 0; rows < 20; rows++) {
        const struct adl_kernels *k = build_at((size_t)rows % BUILD_COUNT);
        float *x = random_numbers(&rng, (size_t)rows * 32), *dx = nn_numbers((size_t)rows * 32);
        float *dmean = random_numbers(&rng, 32), *dmax = random_numbers(&rng, 32), mean[32], max[32];
        k->pool(rows, 32, x, mean, max);
        k->pool_gradient(rows, 32, x, max, dmean, dmax, dx);
        for (int c = 0; c < 32; c++) {
            double sum = 0, most = rows > 0 ? -2 : 0;
            int best = 0;
            for (int r = 0; r < rows; r++) {
                sum += (double)x[r * 32 + c];
                best = (double)x[r * 32 + c] > most ? r : best;
                most = fmax(most, (double)x[r * 32 + c]);
            }
            assert_near((double)mean[c], rows > 0 ? sum / rows : 0, 1);
            assert_true((double)max[c] == most);
            for (int r = 0; r < rows; r++)
                assert_near((double)dx[r * 32 + c], (double)dmean[c] / rows + (r == best ? (double)dmax[c] : 0), 1);
        }
        free(x), free(dx), free(dmean), free(dmax);
    }
}

static void gathered_means_agree_with_the_reference(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 8, "gather");
    const int list[] = {3, 0, 3, 7};
    for (int count = 0; count <= 4; count++)
        for (size_t b = 0; b < BUILD_COUNT; b++) {
            float *x = random_numbers(&rng, 8 * 16), *dy = random_numbers(&rng, 16), *dx = nn_numbers(8 * 16), y[16];
            build_at(b)->gather_mean(count, list, 16, x, y);
            build_at(b)->gather_mean_gradient(count, list, 16, dy, dx);
            for (int c = 0; c < 16; c++) {
                double sum = 0, got = 0;
                for (int i = 0; i < count; i++)
                    sum += (double)x[list[i] * 16 + c] / count;
                for (int r = 0; r < 8; r++)
                    got += (double)dx[r * 16 + c] * (double)x[r * 16 + c];
                assert_near((double)y[c], sum, 1);
                assert_near(got, sum * (double)dy[c], 1); /* the adjoint */
            }
            free(x), free(dy), free(dx);
        }
}

static void sums_and_relu_agree_with_the_reference(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 9, "sums");
    for (int rows = 0; rows < 9; rows++) {
        const struct adl_kernels *k = build_at((size_t)rows % BUILD_COUNT);
        const int count = rows * 35;
        float *x = random_numbers(&rng, (size_t)count + 32), *y = nn_numbers((size_t)count), sum[32];
        float *dy = random_numbers(&rng, (size_t)count), *before = nn_numbers((size_t)count);
        double squares = 0;
        k->sum_rows(rows, 32, x, 35, sum);
        for (int c = 0; c < 32; c++) {
            double wanted = 0;
            for (int r = 0; r < rows; r++)
                wanted += (double)x[r * 35 + c];
            assert_near((double)sum[c], wanted, 1);
        }
        memcpy(y, x, (size_t)count * sizeof *y);
        memcpy(before, dy, (size_t)count * sizeof *y);
        k->relu(count, y);
        k->relu_gradient(count, y, dy);
        for (int i = 0; i < count; i++) {
            assert_true(y[i] == (x[i] > 0 ? x[i] : 0));
            assert_true(dy[i] == (x[i] > 0 ? before[i] : 0));
            squares += (double)x[i] * (double)x[i];
        }
        assert_near(k->sum_squares(count, x), squares, 0);
        free(x), free(y), free(dy), free(before);
    }
}

static void huber_loss_has_the_gradient_of_its_differences(void **state)
{
    (void)state;
    const float target[5] = {0, 0, 0, 0, 0}, weight[5] = {1, 2, 0, 0.5f, 1}, step = 1e-3f;
    float q[5] = {0.3f, -0.7f, 5, 4, -9}, dq[5], unused[5];
    const double loss = adl_huber(5, q, target, weight, 1, dq);
    assert_near(loss, (0.045 + 2 * 0.245 + 0 + 0.5 * 3.5 + 8.5) / 5, 0);
    for (int i = 0; i < 5; i++) {
        const float at = q[i];
        q[i] = at + step;
        const double above = adl_huber(5, q, target, weight, 1, unused);
        q[i] = at - step;
        const double below = adl_huber(5, q, target, weight, 1, unused);
        q[i] = at;
        assert_true(fabs((above - below) / (2 * (double)step) - (double)dq[i]) < 1e-3);
    }
}

/* A row alone, and the same row anywhere in batches of any size: the same bits. */
static void a_row_gives_the_same_bits_wherever_it_stands(void **state)
{
    (void)state;
    struct adl_rng rng;
    adl_rng_seed(&rng, 10, "rows");
    enum { inputs = 53, outputs = 112, most = 20 };
    float *row = random_numbers(&rng, inputs), *w = random_panels(&rng, inputs, outputs), alone[outputs];
    float *bias = random_numbers(&rng, outputs), *x = random_numbers(&rng, most * inputs),
          *y = nn_numbers(most * outputs);
    for (size_t b = 0; b < BUILD_COUNT; b++) {
        const struct adl_product how = {.bias = bias};
        build_at(b)->dense(1, inputs, outputs / ADL_PANEL, row, inputs, w, how, alone, outputs);
        for (int rows = 1; rows <= most; rows++)
            for (int at = 0; at < rows; at++) {
                memcpy(x + at * inputs, row, inputs * sizeof *x);
                build_at(b)->dense(rows, inputs, outputs / ADL_PANEL, x, inputs, w, how, y, outputs);
                assert_memory_equal(y + at * outputs, alone, sizeof alone);
            }
    }
    free(row), free(w), free(bias), free(x), free(y);
}

/* What kernels gave, one after another. */
struct results {
    float *x;
    size_t count, capacity;
};

/* Takes over x and frees it. */
static void keep(struct results *results, float *x, size_t count)
{
    if (results->count + count > results->capacity) {
        results->capacity = 2 * (results->count + count);
        results->x = nn_must_have(realloc(results->x, results->capacity * sizeof *x));
    }
    memcpy(results->x + results->count, x, count * sizeof *x);
    results->count += count;
    free(x);
}

static void keep_products(const struct adl_kernels *k, struct adl_rng *rng, const int size[3], struct results *results)
{
    const int rows = size[0], inputs = size[1];
    const ptrdiff_t panels = adl_panels(size[2]), width = panels * ADL_PANEL;
    float *x = random_numbers(rng, nn_area(rows, inputs)), *w = random_panels(rng, inputs, size[2]);
    float *bias = random_numbers(rng, (size_t)width), *dy = random_numbers(rng, nn_area(rows, width));
    float *sums = random_numbers(rng, (size_t)width), *product = nn_numbers(nn_area(rows, width));
    float *dw = random_numbers(rng, nn_area(inputs, width)), *added = random_numbers(rng, nn_area(rows, width));
    float *wt = nn_numbers(nn_area(adl_panels(inputs) * ADL_PANEL, width));
    k->dense(rows, inputs, panels, x, inputs, w, (struct adl_product){.bias = bias}, product, width);
    k->dense(rows, inputs, panels, x, inputs, w, (struct adl_product){.accumulate = true, .relu = true}, added, width);
    k->dense_gradient(rows, inputs, panels, x, inputs, dy, width, dw, sums);
    k->transpose(inputs, panels, w, wt);
    keep(results, product, nn_area(rows, width));
    keep(results, added, nn_area(rows, width));
    keep(results, dw, nn_area(inputs, width));
    keep(results, sums, (size_t)width);
    keep(results, wt, nn_area(adl_panels(inputs) * ADL_PANEL, width));
    free(x), free(w), free(bias), free(dy);
}

static void keep_rows(const struct adl_kernels *k, struct adl_rng *rng, int rows, ptrdiff_t width,
                      struct results *results)
{
    const int list[] = {0, rows - 1, rows / 2};
    float *x = random_numbers(rng, nn_area(rows, width)), *w = random_numbers(rng, (size_t)width);
    float *dy = random_numbers(rng, (size_t)rows), *bias = random_numbers(rng, 1), *dbias = random_numbers(rng, 1);
    float *y = nn_numbers((size_t)rows), *dx = nn_numbers(nn_area(rows, width)),
          *dw = random_numbers(rng, (size_t)width);
    float *pooled = nn_numbers(nn_area(2, width)), *dpooled = random_numbers(rng, nn_area(2, width));
    float *spread = random_numbers(rng, nn_area(rows, width)), *gathered = nn_numbers((size_t)width);
    float *sums = nn_numbers((size_t)width);
    k->dot(rows, width, x, width, w, bias, y);
    k->dot_gradient(rows, width, x, width, w, dy, dx, dw, dbias);
    k->pool(rows, width, x, pooled, pooled + width);
    k->pool_gradient(rows, width, x, pooled + width, dpooled, dpooled + width, spread);
    k->gather_mean(3, list, width, x, gathered);
    k->gather_mean_gradient(3, list, width, w, spread);
    k->sum_rows(rows, width, x, width, sums);
    keep(results, y, (size_t)rows);
    keep(results, dx, nn_area(rows, width));
    keep(results, dw, (size_t)width);
    keep(results, dbias, 1);
    keep(results, pooled, nn_area(2, width));
    keep(results, spread, nn_area(rows, width));
    keep(results, gathered, (size_t)width);
    keep(results, sums, (size_t)width);
    free(x), free(w), free(dy), free(bias), free(dpooled);
}

/* Each number by itself: count need not be a multiple of anything. */
static double keep_numbers(const struct adl_kernels *k, struct adl_rng *rng, size_t count, struct results *results)
{
    const struct adl_adam_rates rates = {0.9f, 0.999f, 1e-2f, 1e-6f, 0.7f};
    float *x = random_numbers(rng, count), *dx = random_numbers(rng, count), *grads = random_numbers(rng, count);
    float *first = random_numbers(rng, count), *second = random_numbers(rng, count);
    float *params = random_numbers(rng, count);
    for (size_t i = 0; i < count; i++)
        second[i] *= second[i]; /* a mean of squares */
    const double squares = k->sum_squares((ptrdiff_t)count, grads);
    k->relu((ptrdiff_t)count, x);
    k->relu_gradient((ptrdiff_t)count, x, dx);
    k->adam((ptrdiff_t)count, rates, grads, first, second, params);
    keep(results, x, count);
    keep(results, dx, count);
    keep(results, first, count);
    keep(results, second, count);
    keep(results, params, count);
    free(grads);
    return squares;
}

static void the_wide_build_gives_the_same_bits_as_the_plain_one(void **state)
{
    (void)state;
    if (build_at(1) == &adl_kernels_plain)
        skip(); /* the processor cannot run the wide one */
    for (size_t s = 0; s < SIZE_COUNT; s++) {
        struct results results[2] = {{0}};
        double squares[2];
        for (size_t b = 0; b < 2; b++) {
            struct adl_rng rng;
            adl_rng_seed(&rng, s, "bits");
            keep_products(build_at(b), &rng, sizes[s], &results[b]);
            keep_rows(build_at(b), &rng, sizes[s][0], adl_panels(sizes[s][2]) * ADL_PANEL, &results[b]);
            squares[b] = keep_numbers(build_at(b), &rng, nn_area(sizes[s][0], sizes[s][1]), &results[b]);
        }
        assert_int_equal(results[0].count, results[1].count);
        assert_memory_equal(results[0].x, results[1].x, results[0].count * sizeof(float));
        assert_memory_equal(&squares[0], &squares[1], sizeof squares[0]);
        free(results[0].x), free(results[1].x);
    }
}

static void the_fast_build_is_used_only_where_it_is_allowed(void **state)
{
    (void)state;
#if defined(__x86_64__)
    const bool wide = __builtin_cpu_supports("avx2"), fast = wide && __builtin_cpu_supports("fma");
#else
    const bool wide = false, fast = false;
#endif
    const char *exact = wide ? "avx2, exact" : "plain";
    assert_string_equal(adl_kernels_choose(false)->name, exact);
    assert_string_equal(adl_kernels_choose(true)->name, fast ? "avx2" : exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_agrees_with_the_reference),
        cmocka_unit_test(dense_gradient_agrees_with_the_reference),
        cmocka_unit_test(transpose_is_the_transpose),
        cmocka_unit_test(dot_and_its_gradient_agree_with_the_reference),
        cmocka_unit_test(convolution_agrees_with_the_reference_and_keeps_its_padding_zero),
        cmocka_unit_test(transposed_convolution_is_the_adjoint),
        cmocka_unit_test(pooling_agrees_with_the_reference),
        cmocka_unit_test(gathered_means_agree_with_the_reference),
        cmocka_unit_test(sums_and_relu_agree_with_the_reference),
        cmocka_unit_test(huber_loss_has_the_gradient_of_its_differences),
        cmocka_unit_test(a_row_gives_the_same_bits_wherever_it_stands),
        cmocka_unit_test(the_wide_build_gives_the_same_bits_as_the_plain_one),
        cmocka_unit_test(the_fast_build_is_used_only_where_it_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
