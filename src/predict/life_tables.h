/* life_tables: how long jobs of a kind run, from those that have ended and from those that still run.
 *
 * A life table counts, by age in bins of 15 %, the jobs that reached that age and those of them that ended at it. The
 * quotient is the hazard. A job that still runs is counted at every age that it has reached, so that the first hours of
 * a cluster, when only short jobs have ended, do not look as if all jobs were short. Counts of older jobs lose weight
 * with each job that ends.
 *
 * There is a table for all jobs, one for each owner (user and group), and one for each owner and number of GPUs. Each
 * is shrunk to the one before, at each age by how many jobs reached it. A new group takes the place of the least one
 * of its set when the memory is full. Nothing allocates after creation. */
#ifndef ADLRO_PREDICT_LIFE_TABLES_H
#define ADLRO_PREDICT_LIFE_TABLES_H

#include "predict/packing.h"

#define ADL_LIFE_BINS 128

struct adl_life_tables;

/* Which tables a job belongs to. */
struct adl_life_group {
    uint64_t owner; /* user and group */
    uint64_t gang;  /* its number of GPUs */
};

int adl_life_tables_create(struct adl_life_tables **ret);     /* 0 or ADL_ENOMEM */
void adl_life_tables_destroy(struct adl_life_tables *tables); /* accepts NULL */

/* A job is age_us old, and has ended if `ended`. reached: the ages at which it is counted so far, 0 for a new job; only
 * these functions change it. */
void adl_life_tables_age(struct adl_life_tables *tables, struct adl_life_group group, uint8_t *reached, double age_us);
void adl_life_tables_end(struct adl_life_tables *tables, struct adl_life_group group, uint8_t reached, double age_us);

/* As above: the ages of a job that was not seen before this age, or was counted up to it by tables that were read. */
uint8_t adl_life_tables_reached(double age_us);

/* Ended jobs that the tables rest on, older ones at less than 1. */
double adl_life_tables_weight(const struct adl_life_tables *tables);

/* The probability to end in each bin, for a job that reaches it. */
void adl_life_tables_hazards(const struct adl_life_tables *tables, struct adl_life_group group,
                             float ret[ADL_LIFE_BINS]);

/* The bin of ln(age in us), with the part of it that has passed; and back. */
double adl_life_place(double log_us);
double adl_life_log(double place);

/* Tables of groups are kept only where users mean the same. The reader is one that has learned nothing. */
void adl_life_tables_encode(const struct adl_life_tables *tables, struct adl_text *ret);
void adl_life_tables_decode(struct adl_life_tables *tables, struct adl_unpack *from, bool same_users);

#endif
