/* service: configuration, store, executor, engine and HTTP server, from start to end. */
#ifndef ADLRO_SERVICE_SERVICE_H
#define ADLRO_SERVICE_SERVICE_H

#include "base/error.h"
#include "http/http.h"

#include <stdbool.h>
#include <stdint.h>

struct adl_service;

/* Settings of the command line; NULL, 0 and false leave the configuration as it is. */
struct adl_service_options {
    const char *config; /* its file; NULL: defaults */
    const char *state;  /* directory; required */
    const char *socket;
    const char *tcp;
    const char *tokens;
    const char *policy;
    int engine;             /* 1 + enum adl_engine_kind that is expected; 0 = whatever the configuration says */
    const char *scenario;   /* a twin of this scenario */
    const char *partitions; /* of a Slurm cluster, with commas */
    const char *mode;       /* of the Slurm engine: observe, advise, act */
    double speed;
    bool no_limits;                /* on requests, for benchmarks */
    void (*say)(const char *text); /* to the service log; NULL: nowhere. From any thread */
};

int adl_service_create(const struct adl_service_options *options, struct adl_service **ret, struct adl_error *err);
void adl_service_destroy(struct adl_service *service); /* jobs run on; accepts NULL */

/* Until adl_service_end: 0 or negative. */
int adl_service_run(struct adl_service *service, struct adl_error *err);

/* From any thread. */
void adl_service_end(struct adl_service *service);
int adl_service_reload(struct adl_service *service); /* queues it; 0 or ADL_ENOMEM, ADL_EREFUSED if the queue is full */

/* Describes the configuration; opens nothing. */
int adl_service_check(const struct adl_service_options *options, char *ret, size_t size, struct adl_error *err);

/* The lines that are shown when it starts. */
void adl_service_describe(const struct adl_service *service, char *ret, size_t size);

#endif
