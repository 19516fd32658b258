/* training: one run of `adlro train dqn`: rounds, progress on stderr, checkpoints and results. */
#ifndef ADLRO_CLI_TRAINING_H
#define ADLRO_CLI_TRAINING_H

#include "report/training_log.h"
#include "rl/dqn_trainer.h"
#include "rl/market_trainer.h"
#include "rl/rank_trainer.h"

struct adl_training_job {
    const char *scenario_path;
    uint64_t jobs;                /* jobs of an episode; 0 = the scenario's number */
    struct adl_dqn_config config; /* with its scenario */
    bool resume;
    const char *out, *checkpoint;
    const char *csv, *html, *json, *onnx; /* NULL = not requested */
};

/* `adlro train market`. */
struct adl_market_job {
    const char *scenario_path;
    struct adl_market_training config; /* with its scenario */
    bool resume;
    const char *out, *checkpoint;
    const char *csv, *html, *json; /* NULL = not requested */
};
int adl_train_market(const struct adl_market_job *job, bool *ret_interrupted, struct adl_error *err);

/* `adlro train estimator`, on that many labs of the prior. */
int adl_train_estimator(const char *out, uint64_t seed, uint32_t labs, struct adl_error *err);

/* `adlro train adlro`, on shipped scenarios and that many random ones. The best network so far is in out. */
int adl_train_adlro(const struct adl_rank_config *config, uint32_t random, const char *out, bool *ret_interrupted,
                    struct adl_error *err);

/* Writes the log of a training as CSV, page and JSON; NULL = not requested. */
int adl_training_write_reports(const char *csv, const char *html, const char *json, const struct adl_training_log *log,
                               struct adl_error *err);

/* *ret_interrupted: a signal ended it before the last episode. The results so far are saved. */
int adl_training_run(const struct adl_training_job *job, bool *ret_interrupted, struct adl_error *err);

#endif
