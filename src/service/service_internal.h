/* service_internal: private header of service.c and service_reload.c. */
#ifndef ADLRO_SERVICE_SERVICE_INTERNAL_H
#define ADLRO_SERVICE_SERVICE_INTERNAL_H

#include "service/config.h"
#include "service/forecast.h"
#include "service/live/live.h"
#include "service/routes/routes.h"
#include "service/service.h"

struct adl_service {
    struct adl_service_options options; /* strings are the caller's */
    struct adl_service_config config;
    struct adl_service_config next; /* read again, to be put in force */
    struct adl_engine *next_engine; /* for it, or for another policy alone */
    const struct adl_policy_ops *next_policy;
    bool next_read;   /* next was read again */
    bool next_fallen; /* it is the fallback */
    struct adl_service_clock clock;
    char directory[ADL_STORE_PATH_MAX];
    char socket[108];
    char shepherd[ADL_STORE_PATH_MAX]; /* the shepherd program; "": this program */
    char powercap[ADL_STORE_PATH_MAX]; /* file of the power helper */
    char adapter[ADL_STORE_PATH_MAX];  /* the adapter to Slurm; "" likewise */
    struct adl_store *store;
    struct adl_executor executor;
    struct adl_service_state shared;
    struct adl_live *live;
    struct adl_auth *auth;
    struct adl_http *http;
    struct adl_routes_context routes;
    int64_t file_limit; /* of open files, for jobs; 0: as this process has it */
    bool locked;        /* the service state's lock exists */
};

/* service.c */
int adl_service_load_config(const struct adl_service_options *options, struct adl_service_config *ret,
                            struct adl_error *err); /* with the settings of the command line */
int adl_service_record_config(struct adl_service *service, const struct adl_service_config *config,
                              struct adl_error *err); /* in the store, if it differs from the one before */
int adl_service_create_engine(struct adl_service *service, const struct adl_service_config *config,
                              const struct adl_policy_ops *policy, struct adl_engine **ret, struct adl_error *err);

/* service_reload.c */
int adl_service_read_again(void *service, char *ret_text, size_t size, struct adl_error *err); /* adl_live_config */
int adl_service_switch_policy(void *service, bool fall_back, struct adl_error *err);           /* the same */
int adl_service_change_engine(struct adl_service *service, struct adl_error *err);             /* to next_engine */
void adl_service_set_health(struct adl_service *service); /* what the configuration says about it, into the state */
const struct adl_policy_ops *adl_service_wanted(const struct adl_service *service); /* the promoted or configured one */
/* The options of the promoted policy, if this is it. */
void adl_service_set_promoted(const struct adl_service *service, const struct adl_policy_ops *policy,
                              struct adl_policy_config *config);

#endif
