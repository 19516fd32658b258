/* shipped_estimator: the bytes of models/estimator.model, built into the program. */
#ifndef ADLRO_PREDICT_SHIPPED_ESTIMATOR_H
#define ADLRO_PREDICT_SHIPPED_ESTIMATOR_H

#include <stddef.h>

extern const unsigned char adl_shipped_estimator[];
extern const size_t adl_shipped_estimator_size;

#endif
