/* life_tables: how long jobs of a kind run, from those that have ended and from those that still run.
 *
 * A life table counts, by age in bins of 15 %, the jobs that reached that age and those of them that ended at it. The
 * quotient is the hazard. A job that still runs is counted at every age that it has reached, so that the first hours of
 * a cluster, when only short jobs have ended, do not look as if all jobs were short. A job loses weight with each job
 * of its table that begins after it, however long it runs: jobs that begin at about the same time are alike.
 *
 * There is a table for each owner (user and group) and two for each owner and number of GPUs, of which one forgets
 * soon. All owners together are another: it tells of new ones. Each is shrunk to the one before, at each age by how
 * many jobs reached it. A new group takes the place of the least one of its set when the memory is full. Nothing
 * allocates after creation. */
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
void adl_life_tables_copy(struct adl_life_tables *to, const struct adl_life_tables *from);

/* What the tables know of a job that runs; zero for a new one. Only these functions change it. */
struct adl_life {
    uint32_t owner_begun, gang_begun; /* how many jobs of its tables had begun when it did, and itself */
    uint8_t reached;                  /* ages at which it is counted so far */
};

/* A job is age_us old, and still runs; or has ended at that age. */
void adl_life_tables_age(struct adl_life_tables *tables, struct adl_life_group group, struct adl_life *life,
                         double age_us);
void adl_life_tables_end(struct adl_life_tables *tables, struct adl_life_group group, struct adl_life *life,
                         double age_us);

/* A job that was not seen before this age, or was counted up to it by tables that were read. */
void adl_life_tables_enter(struct adl_life_tables *tables, struct adl_life_group group, struct adl_life *life,
                           double age_us);

/* The age at which a job is to be counted next. */
double adl_life_next_us(const struct adl_life *life);

/* Jobs that the tables have counted. */
uint32_t adl_life_tables_begun(const struct adl_life_tables *tables);

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
