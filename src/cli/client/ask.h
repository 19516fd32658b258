/* ask: shared by verbs that send one request to the service and print the answer. */
#ifndef ADLRO_CLI_CLIENT_ASK_H
#define ADLRO_CLI_CLIENT_ASK_H

#include "cli/cli.h"
#include "cli/client/client.h"

#include <stdbool.h>

struct adl_ask_options {
    struct adl_client_options client;
    bool json; /* print the service's answer as JSON */
};

#define ADL_ASK_ROWS(help)                                                                                             \
    ADL_ROW_FLAG(struct adl_ask_options, json, "json", 0, help), ADL_CLIENT_ROWS(struct adl_ask_options)

/* Parses, connects, calls answer, and prints the text it wrote. Returns the exit code. */
int adl_ask_run(const struct adl_verb *verb, int argc, char **argv,
                int (*answer)(struct adl_client *client, const struct adl_ask_options *options,
                              const struct adl_operands *operands, struct adl_text *text, struct adl_error *err));

#endif
