/* library: compatibility of the structs of include/adlro/adlro.h between programs and libraries of different
 * versions. */
#ifndef ADLRO_RL_LIBRARY_H
#define ADLRO_RL_LIBRARY_H

#include "base/error.h"
#include "metrics/metrics.h"
#include <adlro/adlro.h>

#include <stddef.h>

/* The size of a struct whose last member in version 0.1 was this one. */
#define ADL_SIZE_UP_TO(type, member) (offsetof(struct type, member) + sizeof((struct type *)0)->member)

/* One struct as the caller was compiled with it. */
struct adl_caller_struct {
    const char *name; /* for the error message */
    const void *data;
    size_t size;  /* as passed by the caller; 0 = first */
    size_t first; /* in version 0.1 */
};

/* Copies the caller's struct into ret, of `size` bytes, and zeroes the members that the caller does not have. Members
 * that this library does not have must be zero. 0 or ADL_EINVAL. */
int adl_struct_read(const struct adl_caller_struct *caller, void *ret, size_t size, struct adl_error *err);

/* The other way: writes the members that the caller has; those that this library does not have become zero. */
void adl_struct_write(const void *data, size_t size, void *ret, size_t caller_size);

/* What the library shows of a run's figures. */
void adl_result_publish(const struct adl_result *all, struct adlro_result *ret, size_t size);

#endif
