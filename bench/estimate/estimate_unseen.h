/* estimate_unseen: speeds on GPU types of which nothing measured was trained on, told from their specifications after
 * one measurement on V100: RTX 6000 and A40 (Zeus, time per epoch at the highest power limit), T4 (Pollux, step time of
 * ResNet-18 and ResNet-50 on one GPU, against Gavel's V100 at the same batch size). */
#ifndef ADLRO_BENCH_ESTIMATE_UNSEEN_H
#define ADLRO_BENCH_ESTIMATE_UNSEEN_H

#include "estimate_trial.h"

void unseen_show(const struct adl_estimator *estimator);

#endif
