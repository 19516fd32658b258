/* kernels: the arithmetic of the networks, as free functions over raw pointers and dimensions.
 *
 * Weights of a layer (inputs, outputs) are stored in panels of ADL_PANEL output columns, (panels, inputs, ADL_PANEL),
 * the last one padded with zeros: the product then reads them sequentially, and no kernel handles an edge in the
 * columns. Every matrix that a kernel writes has rows of at least panels * ADL_PANEL numbers.
 *
 * The same source is compiled for any processor, for those with AVX2, and for those with AVX2 and FMA; the table says
 * which one is used, so that there is no global choice. The last differs from the others in the last bits (a fused
 * multiply-add rounds once); the first two never differ. Within one table a row's result does not depend on its
 * position in a batch or on the batch size. */
#ifndef ADLRO_NN_KERNELS_H
#define ADLRO_NN_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADL_PANEL 16

static inline ptrdiff_t adl_panels(ptrdiff_t outputs)
{
    return (outputs + ADL_PANEL - 1) / ADL_PANEL;
}

/* The initial value of a product's sums, and what is applied to them. */
struct adl_product {
    const float *bias; /* (panels * ADL_PANEL) added to every row; NULL = none */
    bool accumulate;   /* add to what is in the result; bias must be NULL */
    bool relu;         /* negative sums become 0 */
};

struct adl_adam_rates {
    float beta1, beta2;
    float step;       /* learning rate, corrected for the bias of both moments */
    float epsilon;    /* likewise corrected */
    float grad_scale; /* multiplies the gradient first: clipping; 1 = none */
};

struct adl_kernels {
    const char *name;

    /* y (rows, panels * 16) = x (rows, inputs; a row every ldx) . w (panels, inputs, 16). ldx may be smaller than
     * inputs: rows then overlap, which is how a convolution is a product. */
    void (*dense)(ptrdiff_t rows, ptrdiff_t inputs, ptrdiff_t panels, const float *x, ptrdiff_t ldx, const float *w,
                  struct adl_product how, float *y, ptrdiff_t ldy);

    /* dw (panels, inputs, 16) += x^T dy; dbias (panels * 16) += column sums of dy, if not NULL. */
    void (*dense_gradient)(ptrdiff_t rows, ptrdiff_t inputs, ptrdiff_t panels, const float *x, ptrdiff_t ldx,
                           const float *dy, ptrdiff_t ldy, float *dw, float *dbias);

    /* wt (panels of inputs, panels * 16, 16) = w^T for w (panels, inputs, 16): dx = dy . w^T is then another product,
     * with panels * 16 inputs. */
    void (*transpose)(ptrdiff_t inputs, ptrdiff_t panels, const float *w, float *wt);

    /* y[rows] = x (rows, inputs) . w (inputs) + *bias; inputs is a multiple of 16. */
    void (*dot)(ptrdiff_t rows, ptrdiff_t inputs, const float *x, ptrdiff_t ldx, const float *w, const float *bias,
                float *y);
    /* dx (rows, inputs) = dy[rows] w; dw += x^T dy; *dbias += sum of dy. */
    void (*dot_gradient)(ptrdiff_t rows, ptrdiff_t inputs, const float *x, ptrdiff_t ldx, const float *w,
                         const float *dy, float *dx, float *dw, float *dbias);

    void (*relu)(ptrdiff_t count, float *x);
    void (*relu_gradient)(ptrdiff_t count, const float *y, float *dy); /* dy becomes 0 where y is not positive */

    /* x (rows, width; width a multiple of 16) -> mean[width], max[width]; both 0 for no rows. */
    void (*pool)(ptrdiff_t rows, ptrdiff_t width, const float *x, float *mean, float *max);
    /* dx (rows, width) += dmean / rows, and dmax where the first row has the maximum. */
    void (*pool_gradient)(ptrdiff_t rows, ptrdiff_t width, const float *x, const float *max, const float *dmean,
                          const float *dmax, float *dx);

    /* y[width] = mean of the listed rows of x (., width); 0 for an empty list. width is a multiple of 16. */
    void (*gather_mean)(ptrdiff_t count, const int *list, ptrdiff_t width, const float *x, float *y);
    /* dx[listed] += dy / count. */
    void (*gather_mean_gradient)(ptrdiff_t count, const int *list, ptrdiff_t width, const float *dy, float *dx);

    /* y[width] = sum of the rows of x (rows, width); width is a multiple of 16. */
    void (*sum_rows)(ptrdiff_t rows, ptrdiff_t width, const float *x, ptrdiff_t ldx, float *y);

    /* sum of squares, for the norm of a gradient */
    double (*sum_squares)(ptrdiff_t count, const float *x);
    /* One step of Adam (Kingma and Ba 2015, the efficient form at the end of section 2). */
    void (*adam)(ptrdiff_t count, struct adl_adam_rates rates, const float *grads, float *first, float *second,
                 float *params);
};

/* The fast build if it is allowed and the processor supports it; else the plain one or, if the processor has AVX2, a
 * faster one that gives the same bits. */
const struct adl_kernels *adl_kernels_choose(bool fast_allowed);

/* Of Huber's loss, mean over count of weight[i] * h(q[i] - target[i]): h(d) = d^2 / 2 up to delta, then delta * (|d| -
 * delta / 2). weight NULL = all 1. dq[i] is its gradient. Returns the loss. */
double adl_huber(ptrdiff_t count, const float *q, const float *target, const float *weight, float delta, float *dq);

/* ---- width-3 convolution over sequences ----
 *
 * Sequences of one batch are stored one after another in one matrix with a row of zeros before, between and after them:
 * sequence s, of offset[s + 1] - offset[s] rows, starts at row offset[s] + s + 1. A row and its two neighbours are then
 * 3 * channels numbers side by side, and the convolution of the whole batch is one product with ldx = channels. */
static inline ptrdiff_t adl_padded_row(const int *offset, int sequence)
{
    return (ptrdiff_t)offset[sequence] + sequence + 1;
}

static inline ptrdiff_t adl_padded_rows(const int *offset, int sequences)
{
    return (ptrdiff_t)offset[sequences] + sequences + 1;
}

/* Zeroes the rows (width each) that belong to no sequence. */
void adl_padding_clear(int sequences, const int *offset, ptrdiff_t width, float *x);
/* x (sum, channels) -> y (padded rows, channels), padding included. */
void adl_padding_insert(int sequences, const int *offset, ptrdiff_t channels, const float *x, float *y);

/* x (padded rows, channels), w (panels, 3 * channels, 16), y (padded rows, panels * 16) with its padding cleared. */
void adl_conv3(const struct adl_kernels *kernels, int sequences, const int *offset, ptrdiff_t channels,
               ptrdiff_t panels, const float *x, const float *w, struct adl_product how, float *y);
/* dw (panels, 3 * channels, 16) += ..., dbias += ...; the padding of dy must be 0. */
void adl_conv3_gradient(const struct adl_kernels *kernels, int sequences, const int *offset, ptrdiff_t channels,
                        ptrdiff_t panels, const float *x, const float *dy, float *dw, float *dbias);
/* The weights (channels / 16 panels, 3 * panels * 16, 16) whose convolution of dy is dx; channels is a multiple of 16.
 */
void adl_conv3_transpose(ptrdiff_t channels, ptrdiff_t panels, const float *w, float *wt);

#endif
