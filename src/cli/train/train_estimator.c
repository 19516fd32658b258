/* train_estimator: trains the networks of the estimates on the prior. */
#include "cli/train/training.h"

#include "cli/cli.h"
#include "estimator/estimator_trainer.h"

#include <inttypes.h>

int adl_train_estimator(const char *out, uint64_t seed, uint32_t labs, struct adl_error *err)
{
    struct adl_estimator_config config = adl_estimator_defaults();
    struct adl_estimator_trainer *trainer = NULL;
    struct adl_estimator *estimator = NULL;
    struct adl_text bytes = {0}, text = {0};
    static const char *const names[ADL_ESTIMATOR_PARTS] = {"P1, rate", "P1, share", "P2, rate", "P2, share"};
    config.seed = seed;
    config.steps = (uint32_t)((uint64_t)config.steps * labs / config.labs) + 1;
    config.labs = labs;
    int status = adl_estimator_trainer_create(&config, &trainer, err);
    if (status == 0)
        status = adl_estimator_trainer_run(trainer, &estimator, err);
    if (status == 0) {
        adl_text_printf(&text, "%" PRIu64 " examples of %" PRIu32 " labs, seed %" PRIu64 ". On labs not trained on:\n",
                        estimator->examples, config.labs, seed);
        for (int part = 0; part < ADL_ESTIMATOR_PARTS && status == 0; part++) {
            double error = 0, coverage = 0;
            status =
                adl_estimator_trainer_score(trainer, estimator, (enum adl_estimator_part)part, &error, &coverage, err);
            adl_text_printf(&text, "  %-10s %-12s error of the logarithm ", names[part],
                            adl_setnet_form_name(estimator->nets[part].shape.form));
            adl_text_fixed(&text, error, 3);
            adl_text_put(&text, ", 90 % intervals cover ");
            adl_text_fixed(&text, 100 * coverage, 1);
            adl_text_put(&text, " %\n");
        }
        adl_text_printf(&text, "%s\n", out);
        adl_estimator_encode(estimator, &bytes);
    }
    if (status == 0)
        status = adl_output_write(out, &bytes, err);
    if (status == 0)
        status = adl_output_write("-", &text, err);
    adl_text_clear(&bytes);
    adl_text_clear(&text);
    adl_estimator_destroy(estimator);
    adl_estimator_trainer_destroy(trainer);
    return status;
}
