/* health: GPUs and GPU types that are no longer as fast as they were, and whether predictions hold. */
#include "cli/client/ask.h"
#include "cli/display.h"
#include "cli/quantity.h"

#include <cjson/cJSON.h>
#include <string.h>

static const struct adl_option table[] = {ADL_ASK_ROWS("print JSON, as the service returns it")};

static const struct adl_verb verb = {
    .name = "health",
    .summary =
        "Shows GPUs that run below their type and GPU types whose speed has changed: by how much, since when, and "
        "what jobs lost to it; and whether predictions of run times hold.",
    .operands_max = 0,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro health\nadlro health --json",
};

/* On a GPU without jobs nothing is measured, so an administrator has to try it. */
static void put_drain(struct adl_text *text, const cJSON *gpu)
{
    const double since_s = adl_member_number(gpu, "drained_s", 0);
    char moment[ADL_DURATION_SIZE];
    if (since_s <= 0)
        return;
    adl_text_put(text, adl_member_flag(gpu, "drained") ? "; adlro drained it " : "; drained ");
    adl_text_put(text, adl_moment_print(since_s, moment));
    if (strcmp(adl_member_text(gpu, "state"), "drained") == 0)
        adl_text_printf(text, ", so nothing is measured on it: adlro drain %.0f --resume to try it",
                        adl_member_number(gpu, "gpu", 0));
}

static bool put_lines(struct adl_text *text, const cJSON *list)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, list)
    {
        adl_display_put(text, adl_member_text(one, "text"), ADL_DISPLAY_ALL);
        put_drain(text, one);
        adl_text_char(text, '\n');
    }
    return list && list->child;
}

static void put_predictions(struct adl_text *text, const cJSON *predictions, const cJSON *policy)
{
    const char *proposal = adl_member_text(predictions, "proposal");
    adl_display_put(text, adl_member_text(predictions, "text"), ADL_DISPLAY_ALL);
    adl_text_char(text, '\n');
    if (adl_member_flag(policy, "fallen_back")) {
        adl_text_put(text, "policy ");
        adl_display_put(text, adl_member_text(policy, "in_force"), ADL_DISPLAY_ALL);
        adl_text_put(text, " decides in place of ");
        adl_display_put(text, adl_member_text(policy, "configured"), ADL_DISPLAY_ALL);
        adl_text_put(text, " until they hold again, or until a reload\n");
    }
    if (*proposal) {
        adl_text_put(text, "to tune it again: ");
        adl_display_put(text, proposal, ADL_DISPLAY_ALL);
        adl_text_char(text, '\n');
    }
}

static void put_health(struct adl_text *text, const cJSON *health)
{
    const bool types = put_lines(text, cJSON_GetObjectItemCaseSensitive(health, "types"));
    const bool gpus = put_lines(text, cJSON_GetObjectItemCaseSensitive(health, "gpus"));
    if (!types && !gpus)
        adl_text_put(text, "every GPU runs as its type does, and every type as at first\n");
    put_predictions(text, cJSON_GetObjectItemCaseSensitive(health, "predictions"),
                    cJSON_GetObjectItemCaseSensitive(health, "policy"));
}

static int show(struct adl_client *client, const struct adl_ask_options *o, const struct adl_operands *operands,
                struct adl_text *text, struct adl_error *err)
{
    (void)operands;
    cJSON *answer = NULL;
    const int status = adl_client_get(client, "/v1/health", &answer, err);
    if (status)
        return status;
    if (o->json)
        adl_display_json(text, answer);
    else
        put_health(text, answer);
    cJSON_Delete(answer);
    return 0;
}

static int run(int argc, char **argv)
{
    return adl_ask_run(&verb, argc, argv, show);
}

const struct adl_command_verb adl_verb_health = {&verb, run};
