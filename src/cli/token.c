/* token: creates, lists and revokes the tokens of users who reach the service over the network. */
#include "http/token.h"
#include "cli/cli.h"
#include "cli/quantity.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define EXPIRES_DEFAULT "365d"

struct options {
    const char *file, *expires;
};

static const struct adl_option table[] = {
    ADL_ROW_TEXT(
        struct options, file, "file", 0, "FILE",
        "the service's token file, to which the line of a new token is appended; created with mode 0600 if missing"),
    ADL_ROW_TEXT(struct options, expires, "expires", 0, "TIME", "how long a new token is valid: 90d, 12h, or never"),
};

static const struct adl_verb verb = {
    .name = "token",
    .summary =
        "Creates a token for a user and prints it once: only its hash goes into the service's token file. `token "
        "list` lists the file, `token revoke ID...` removes tokens, and a running service notices. For a user "
        "named list or revoke: `token create USER`.",
    .operands = "USER | list | revoke ID...",
    .operands_min = 1,
    .operands_max = INT_MAX,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro token ann --file /etc/adlro/tokens --expires 90d",
};

static int need_file(const struct options *o, struct adl_error *err)
{
    return o->file ? 0 : adl_fail(err, ADL_EINVAL, "--file FILE: which token file? (listen.tokens of the service)");
}

/* A bad token file is not an error of the command line. */
static int of_file(int status)
{
    return status == ADL_EINVAL ? ADL_EIO : status;
}

/* ---- list ---- */

static const char *moment(int64_t seconds, const char *otherwise, char buffer[ADL_DURATION_SIZE])
{
    if (seconds == 0)
        return otherwise;
    return adl_moment_print((double)seconds, buffer);
}

static const char *state_of(const struct adl_token *token)
{
    struct adl_account account;
    if (adl_token_expired(token, (int64_t)time(NULL)))
        return "expired";
    return adl_account_of_name(token->user, ADL_ACCOUNT_NO_GROUP, &account, NULL) < 0 ? "no such user" : "valid";
}

static int list(const struct options *o, struct adl_error *err)
{
    struct adl_tokens tokens = {0};
    int status = need_file(o, err);
    if (status == 0)
        status = of_file(adl_tokens_read(o->file, &tokens, err));
    if (status)
        return status;
    printf("%-8s  %-16s  %-19s  %-19s  %s\n", "ID", "USER", "CREATED", "EXPIRES", "STATE");
    for (size_t i = 0; i < tokens.count; i++) {
        const struct adl_token *token = &tokens.items[i];
        char created[ADL_DURATION_SIZE], expires[ADL_DURATION_SIZE];
        printf("%-8s  %-16s  %-19s  %-19s  %s\n", token->id, token->user,
               moment(token->created_s, "not known", created), moment(token->expires_s, "never", expires),
               state_of(token));
    }
    adl_tokens_clear(&tokens);
    return 0;
}

/* ---- revoke ---- */

static int revoke(const struct options *o, const char *const *ids, int count, struct adl_error *err)
{
    int status = need_file(o, err);
    if (status == 0 && count == 0)
        status = adl_fail(err, ADL_EINVAL, "revoke: which token? (`adlro token list` shows their ids)");
    if (status == 0)
        status = of_file(adl_tokens_revoke(o->file, ids, (size_t)count, err));
    for (int i = 0; status == 0 && i < count; i++)
        printf("token %s revoked\n", ids[i]);
    return status;
}

/* ---- create ---- */

static int expiry_read(const char *text, int64_t *ret_s, struct adl_error *err)
{
    int64_t lasts_s;
    if (strcmp(text, "never") == 0) {
        *ret_s = 0;
        return 0;
    }
    const int status = adl_duration_read(text, "--expires", &lasts_s, err);
    if (status == 0)
        *ret_s = (int64_t)time(NULL) + lasts_s;
    return status;
}

static void say_created(const struct options *o, int64_t expires_s)
{
    char expires[ADL_DURATION_SIZE];
    if (o->file)
        fprintf(stderr, "The token is shown this once; its line is in %s.\n", o->file);
    else
        fprintf(stderr, "The first line is the token, shown this once; the second goes into the token file.\n");
    if (expires_s > 0)
        fprintf(stderr, "It expires on %s.\n", adl_moment_print((double)expires_s, expires));
    else
        fprintf(stderr, "It never expires.\n");
}

static int create(const struct options *o, const char *user, struct adl_error *err)
{
    char token[ADL_TOKEN_SIZE], line[ADL_TOKEN_LINE_SIZE];
    int64_t expires_s = 0;
    int status = expiry_read(o->expires, &expires_s, err);
    if (status == 0)
        status = adl_token_create(user, expires_s, token, line, err);
    if (status == 0 && o->file)
        status = of_file(adl_tokens_append(o->file, line, err));
    if (status)
        return status;
    puts(token);
    if (!o->file)
        printf("%s\n", line);
    fflush(stdout);
    say_created(o, expires_s);
    return 0;
}

static int run(int argc, char **argv)
{
    struct options o = {.expires = EXPIRES_DEFAULT};
    struct adl_operands operands;
    struct adl_error err;
    int code, status;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    const char *const *words = (const char *const *)operands.items;
    const bool explicit = strcmp(words[0], "create") == 0 && operands.count == 2;
    if (strcmp(words[0], "list") == 0 && operands.count == 1)
        status = list(&o, &err);
    else if (strcmp(words[0], "revoke") == 0)
        status = revoke(&o, words + 1, (int)operands.count - 1, &err);
    else if (operands.count == 1 || explicit)
        status = create(&o, words[explicit ? 1 : 0], &err);
    else
        status = adl_fail(&err, ADL_EINVAL, "one user at a time, or list, or revoke and ids");
    if (status)
        return adl_cli_fail(&verb, status, &err);
    return fflush(stdout) == 0 ? ADL_EXIT_DONE : ADL_EXIT_FAILED;
}

const struct adl_command_verb adl_verb_token = {&verb, run};
