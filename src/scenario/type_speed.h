/* type_speed: the speed of a class of jobs on a GPU type, as the catalogue has it or estimated from specifications. */
#ifndef ADLRO_SCENARIO_TYPE_SPEED_H
#define ADLRO_SCENARIO_TYPE_SPEED_H

#include "scenario/catalogue.h"

/* Whether the catalogue has a speed of any class on this type. */
bool adl_type_has_speeds(const struct adl_catalogue *catalogue, const char *type);

/* Steps per second of the class on one GPU of the type; 0 if it does not run there. The catalogue knows that of the
 * types on which it has speeds, and of those that are `like` one of them. On any other type the speed is the median of
 * what the known ones imply: it falls with the lower of arithmetic rate and memory bandwidth, and rises with the square
 * root of it, because a faster GPU does not speed up what the host does. So it rises with both specifications. */
double adl_type_speed(const struct adl_catalogue *catalogue, const struct adl_catalogue_class *class,
                      const struct adl_gpu_type *type, bool *ret_modelled);

#endif
