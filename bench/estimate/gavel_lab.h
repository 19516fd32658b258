/* gavel_lab: Gavel's measurements of single-GPU jobs as a lab: 26 jobs of 7 families on K80, P100 and V100.
 *
 * What a submission would say of them is public: the arithmetic of a training step is 3 * 2 * multiply-adds per sample
 * * batch size, with, per sample, ResNet-18   0.56 G at 32 x 32 pixels (the CIFAR-10 form of He et al. 2016) ResNet-50
 * 4.1 G at 224 x 224 pixels (He et al. 2016) Transformer 1.3 G: 50 M parameters of the base model (Vaswani et al. 2017)
 * * 26 tokens, a padded line of Multi30k LM          0.26 G: 7.3 M of an LSTM of 2 x 200 with 33,278 words (WikiText-2)
 * * 35 steps Recommendation 8 M: an autoencoder of 20,108 films (MovieLens-20M) over 200 units CycleGAN    342 G: six
 * passes of a generator of 57 G at 256 x 256 pixels (Zhu et al. 2017) A3C, which plays a game on the host, declares
 * none. Memory is what such a job is likely to ask for; cores as its loaders use them. Left out: pairs [0, 0] (out of
 * memory) and shares of exactly 1, which were cut off there. */
#ifndef ADLRO_BENCH_GAVEL_LAB_H
#define ADLRO_BENCH_GAVEL_LAB_H

#include "estimator/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAVEL_FAMILIES = 7, GAVEL_TYPES = 3 };
int gavel_job_of(struct adl_lab *lab, const char *name);

/* Cells of a line, in place; how many. */
int gavel_cells(char *line, char **ret, int most);

/* False if the data is not there. */
bool gavel_load(struct adl_lab *ret);

/* The jobs that are not of the families in the mask. */
void gavel_without(const struct adl_lab *all, uint32_t families, struct adl_lab *ret);

#endif
