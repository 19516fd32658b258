#include "predict/history.h"

#include "base/copy.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/real.h"

#include <math.h>
#include <stdlib.h>

#define ROLLING_SHARE   0.5  /* lambda */
#define NEWEST_SHARE    0.2  /* weight of the newest job in a rolling mean, once there are five */
#define RIDGE           1.0  /* regularizes while there are few jobs */
#define REGRESSION_JOBS 16   /* with fewer it is not used */
#define LOG_LIMIT       30.0 /* of the logarithm of a time in us: 123 days */
#define FEATURES        ADL_HISTORY_FEATURES
#define SETS            2048
#define WAYS            8

enum level { BY_USER_AND_NAME, BY_USER_AND_GPUS, BY_GPUS, LEVEL_COUNT };

/* 0 if the level does not apply to such a job. */
static uint64_t key_of(const struct adl_job_spec *spec, int level)
{
    if (level == BY_USER_AND_NAME && spec->name_id == 0)
        return 0;
    const uint64_t who = level == BY_GPUS ? 0 : spec->user;
    const uint64_t what = level == BY_USER_AND_NAME ? spec->name_id : spec->gpus;
    const uint64_t key = adl_hash_u64(adl_hash_u64(adl_hash_start(), (uint64_t)level), who << 32 | what);
    return key ? key : 1;
}

int adl_history_create(struct adl_history *ret)
{
    struct adl_history history = {.means = calloc((size_t)SETS * WAYS, sizeof *history.means)};
    if (!history.means)
        return ADL_ENOMEM;
    *ret = history;
    return 0;
}

void adl_history_clear(struct adl_history *history)
{
    free(history->means);
    *history = (struct adl_history){0};
}

void adl_history_copy(struct adl_history *to, const struct adl_history *from)
{
    const struct adl_history own = *to;
    *to = *from;
    ADL_COPY_ARRAY(to, own, from, means, SETS * WAYS);
}

/* The entry of the key or, if there is none, the one that it would replace. */
static struct adl_history_mean *find(const struct adl_history *history, uint64_t key)
{
    struct adl_history_mean *set = &history->means[(size_t)(key % SETS) * WAYS], *oldest = set;
    for (int way = 0; way < WAYS; way++) {
        if (set[way].key == key)
            return &set[way];
        if (set[way].last_used < oldest->last_used)
            oldest = &set[way];
    }
    return oldest;
}

static double log1(double x)
{
    return adl_log(x > 1.0 ? x : 1.0);
}

static void features_of(const struct adl_job_spec *spec, double ret[FEATURES])
{
    ret[0] = 1.0;
    ret[1] = log1((double)spec->limit_us);
    ret[2] = log1((double)spec->gpus);
    ret[3] = spec->priority;
    for (int kind = 0; kind < ADL_KIND_COUNT; kind++)
        ret[4 + kind] = spec->kind == kind;
}

/* Cholesky: (normal + ridge) weight = moment. */
static void solve(struct adl_history *history)
{
    double lower[FEATURES][FEATURES], half[FEATURES] = {0};
    for (int i = 0; i < FEATURES; i++) {
        double rest = history->moment[i];
        for (int j = 0; j <= i; j++) {
            double sum = history->normal[i][j] + (i == j ? RIDGE : 0.0);
            for (int k = 0; k < j; k++)
                sum -= lower[i][k] * lower[j][k];
            lower[i][j] = i == j ? sqrt(sum > 1e-9 ? sum : 1e-9) : sum / lower[j][j];
            rest -= j < i ? lower[i][j] * half[j] : 0.0;
        }
        half[i] = rest / lower[i][i];
    }
    for (int i = FEATURES - 1; i >= 0; i--) {
        double rest = half[i];
        for (int k = i + 1; k < FEATURES; k++)
            rest -= lower[k][i] * history->weight[k];
        history->weight[i] = rest / lower[i][i];
    }
}

void adl_history_learn(struct adl_history *history, const struct adl_job_spec *spec, int64_t run_us)
{
    history->count++;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        const uint64_t key = key_of(spec, level);
        if (key == 0)
            continue;
        struct adl_history_mean *mean = find(history, key);
        if (mean->key != key)
            *mean = (struct adl_history_mean){.key = key};
        mean->count++;
        mean->last_used = history->count;
        const double share = 1.0 / (double)mean->count;
        mean->mean_us += ((double)run_us - mean->mean_us) * (share > NEWEST_SHARE ? share : NEWEST_SHARE);
    }
    double x[FEATURES];
    features_of(spec, x);
    const double y = log1((double)run_us);
    for (int i = 0; i < FEATURES; i++) {
        for (int j = 0; j < FEATURES; j++)
            history->normal[i][j] += x[i] * x[j];
        history->moment[i] += x[i] * y;
    }
    solve(history);
}

int64_t adl_history_predict(const struct adl_history *history, const struct adl_job_spec *spec)
{
    double rolling_us = 0;
    for (int level = 0; level < LEVEL_COUNT && rolling_us <= 0; level++) {
        const uint64_t key = key_of(spec, level);
        const struct adl_history_mean *mean = find(history, key);
        rolling_us = key != 0 && mean->key == key ? mean->mean_us : 0;
    }
    if (history->count < REGRESSION_JOBS)
        return (int64_t)rolling_us;
    double x[FEATURES], log_us = 0;
    features_of(spec, x);
    for (int i = 0; i < FEATURES; i++)
        log_us += x[i] * history->weight[i];
    const double regression_us = adl_exp(log_us < LOG_LIMIT ? log_us : LOG_LIMIT);
    const double share = rolling_us > 0 ? ROLLING_SHARE : 0.0;
    const double us = share * rolling_us + (1.0 - share) * regression_us;
    return us > 1.0 ? (int64_t)us : 1;
}
