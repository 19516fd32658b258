/* catalogue: GPU types and job classes with their measured speeds, in the format of scenarios/catalogue.yaml. */
#ifndef ADLRO_SCENARIO_CATALOGUE_H
#define ADLRO_SCENARIO_CATALOGUE_H

#include "model/scenario.h"
#include "scenario/yaml.h"

#define ADL_CATALOGUE_TYPES_MAX 128

struct adl_catalogue_speed {
    const struct adl_yaml_node *at;
    struct adl_yaml_link type;
    double steps_per_s; /* on one GPU */
    bool modelled;
    char source[160];
};

struct adl_catalogue_type {
    const struct adl_yaml_node *at;
    struct adl_gpu_type gpu;
    struct adl_yaml_link like; /* a type with its speeds, and with the figures that are not given; text NULL = none */
};

struct adl_catalogue_class {
    const struct adl_yaml_node *at;
    struct adl_job_class job; /* its speeds are in the list below, because the catalogue has no cluster */
    int kind;
    char source[160];
    char measured[64];           /* the row of a file of measurements that has its speeds; "" = they are in speeds */
    struct adl_yaml_list speeds; /* struct adl_catalogue_speed */
};

/* The document owns everything in it. */
struct adl_catalogue {
    struct adl_yaml *yaml;
    const struct adl_catalogue_type *types;
    uint32_t type_count;
    const struct adl_catalogue_class *classes;
    uint32_t class_count;
};

extern const struct adl_yaml_table adl_catalogue_table;
extern const struct adl_yaml_table adl_gpu_type_table; /* struct adl_catalogue_type */

int adl_catalogue_parse(const char *name, const char *text, size_t size, struct adl_catalogue *ret,
                        struct adl_error *err);
void adl_catalogue_clear(struct adl_catalogue *catalogue); /* accepts a zeroed one */

/* Adds the types that another file describes (struct adl_catalogue_type) and checks them; yaml is that file. One that
 * has the name of a type of the catalogue takes its place. */
int adl_catalogue_add_types(struct adl_catalogue *catalogue, const struct adl_yaml *yaml,
                            const struct adl_yaml_list *added, struct adl_error *err);

/* Puts cautious figures in the place of those that are 0, and marks the type as modelled if there were any. */
void adl_gpu_type_complete(struct adl_gpu_type *gpu);

/* NULL if there is none. */
const struct adl_catalogue_type *adl_catalogue_find_type(const struct adl_catalogue *catalogue, const char *name);
/* Says that there is no such type, and which is meant perhaps. */
int adl_catalogue_refuse_type(const struct adl_catalogue *catalogue, const char *name, struct adl_error *err);
const struct adl_catalogue_class *adl_catalogue_find_class(const struct adl_catalogue *catalogue, const char *name);
const struct adl_catalogue_speed *adl_catalogue_find_speed(const struct adl_catalogue_class *class, const char *type);

#endif
