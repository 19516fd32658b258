/* engine_bytes: what an engine has learned about jobs and GPUs, as bytes. */
#include "engine/engine_internal.h"

#include "predict/belief.h"

void adl_engine_encode(const struct adl_engine *engine, const struct adl_belief_terms *terms, struct adl_text *ret)
{
    adl_belief_encode(engine->belief, engine->correction.drift, terms, ret);
}

int adl_engine_decode(struct adl_engine *engine, const void *bytes, size_t size, const struct adl_belief_terms *terms,
                      struct adl_belief_account *ret, struct adl_error *err)
{
    const int status = adl_belief_decode(engine->belief, engine->correction.drift, bytes, size, terms, ret, err);
    if (status == 0)
        adl_correction_believe(&engine->correction);
    return status;
}

int adl_engine_decode_drift(struct adl_engine *engine, const void *bytes, size_t size,
                            const struct adl_belief_terms *terms, struct adl_belief_account *ret, struct adl_error *err)
{
    struct adl_belief *unused = NULL;
    int status = adl_belief_create(engine->config.cluster, false, &unused);
    if (status)
        return adl_fail(err, status, "out of memory for a belief");
    status = adl_belief_decode(unused, engine->correction.drift, bytes, size, terms, ret, err);
    if (status == 0)
        adl_correction_believe(&engine->correction);
    adl_belief_destroy(unused);
    return status;
}
