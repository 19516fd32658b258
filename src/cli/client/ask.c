#include "cli/client/ask.h"

int adl_ask_run(const struct adl_verb *verb, int argc, char **argv,
                int (*answer)(struct adl_client *client, const struct adl_ask_options *options,
                              const struct adl_operands *operands, struct adl_text *text, struct adl_error *err))
{
    struct adl_ask_options o = {.json = false};
    struct adl_operands operands;
    struct adl_client *client = NULL;
    struct adl_text text = {0};
    struct adl_error err;
    int code;
    if (!adl_cli_parse(verb, argc, argv, &o, &operands, &code))
        return code;
    int status = adl_client_create(&o.client, &client, &err);
    if (status == 0)
        status = answer(client, &o, &operands, &text, &err);
    if (status == 0)
        status = adl_output_write("-", &text, &err);
    adl_text_clear(&text);
    adl_client_destroy(client);
    return status ? adl_cli_fail(verb, status, &err) : ADL_EXIT_DONE;
}
