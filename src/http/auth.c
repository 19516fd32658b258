#include "http/auth.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define BEARER_PREFIX "Bearer "
#define LOOKUP_S      60 /* after which an account is looked up again */

/* The account of a token. */
struct holder {
    struct adl_caller caller; /* known is false: there is no such account, or the lookup failed */
    int64_t lookup_s;         /* when */
};

struct adl_auth {
    gid_t admin_group;
    char *path; /* NULL: no tokens */
    void (*say)(const char *text);
    pthread_mutex_t mutex;
    /* Under the mutex. */
    struct adl_tokens tokens;
    struct holder *holders; /* [token] */
    struct adl_tokens
        failed;   /* empty but for the state of the file when reading last failed, so that the failure is logged once */
    bool missing; /* the same if the file was missing */
};

static bool is_admin(const struct adl_account *account)
{
    return account->uid == 0 || account->uid == geteuid() || account->in_group;
}

static int64_t now_s(void)
{
    return (int64_t)time(NULL);
}

/* If the lookup fails for any reason but a missing user, keeps what is known. */
static void look_up(const struct adl_auth *auth, const struct adl_token *token, struct holder *holder)
{
    struct adl_account account;
    struct adl_error why;
    const int status = adl_account_of_name(token->user, auth->admin_group, &account, &why);
    holder->lookup_s = now_s();
    if (status == ADL_OK) {
        holder->caller = (struct adl_caller){.known = true, .admin = is_admin(&account), .account = account};
        memcpy(holder->caller.token, token->id, sizeof token->id);
    } else if (status == ADL_EINVAL) {
        holder->caller = (struct adl_caller){0};
    }
}

static void log_missing_users(const struct adl_auth *auth, const struct adl_tokens *tokens,
                              const struct holder *holders)
{
    char text[400];
    for (size_t i = 0; auth->say && i < tokens->count; i++) {
        if (holders[i].caller.known)
            continue;
        snprintf(text, sizeof text,
                 "%.200s: token %s is refused: its user '%.64s' is not known on this machine (`adlro token revoke %s` "
                 "removes it)",
                 auth->path, tokens->items[i].id, tokens->items[i].user, tokens->items[i].id);
        auth->say(text);
    }
}

static int read_tokens(const struct adl_auth *auth, struct adl_tokens *ret, struct holder **ret_holders,
                       struct adl_error *err)
{
    struct adl_tokens tokens = {0};
    int status = adl_tokens_read(auth->path, &tokens, err);
    if (status < 0)
        return status;
    const uid_t owner = tokens.about.st_uid;
    struct holder *holders = calloc(tokens.count + 1, sizeof *holders);
    if (owner != 0 && owner != geteuid())
        status = adl_fail(err, ADL_EINVAL, "%s: belongs to uid %lu; it must be root's or the service's own (%lu)",
                          auth->path, (unsigned long)owner, (unsigned long)geteuid());
    else if (!holders)
        status = adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    if (status < 0 || !holders) {
        free(holders);
        adl_tokens_clear(&tokens);
        return status;
    }
    for (size_t i = 0; i < tokens.count; i++)
        look_up(auth, &tokens.items[i], &holders[i]);
    *ret = tokens;
    *ret_holders = holders;
    return ADL_OK;
}

int adl_auth_reload(struct adl_auth *auth, struct adl_error *err)
{
    struct adl_tokens tokens = {0}, old_tokens;
    struct holder *holders = NULL, *old_holders;
    if (!auth->path)
        return ADL_OK;
    const int status = read_tokens(auth, &tokens, &holders, err);
    if (status < 0)
        return status;
    log_missing_users(auth, &tokens, holders);
    pthread_mutex_lock(&auth->mutex);
    old_tokens = auth->tokens;
    old_holders = auth->holders;
    auth->tokens = tokens;
    auth->holders = holders;
    pthread_mutex_unlock(&auth->mutex);
    adl_tokens_clear(&old_tokens);
    free(old_holders);
    return ADL_OK;
}

/* Revoking a token takes effect with the next request. */
static void refresh(struct adl_auth *auth)
{
    struct stat about = {0};
    struct adl_error err;
    char text[700];
    if (!auth->path)
        return;
    const bool there = lstat(auth->path, &about) == 0;
    pthread_mutex_lock(&auth->mutex);
    const bool changed = there ? adl_tokens_changed(&auth->tokens, auth->path) &&
                                     (auth->missing || adl_tokens_changed(&auth->failed, auth->path))
                               : !auth->missing;
    auth->missing = !there;
    auth->failed.about = about;
    pthread_mutex_unlock(&auth->mutex);
    if (!changed || adl_auth_reload(auth, &err) == ADL_OK)
        return;
    snprintf(text, sizeof text, "the tokens stay as they were: %s", err.text);
    if (auth->say)
        auth->say(text);
}

void adl_auth_set_log(struct adl_auth *auth, void (*say)(const char *text))
{
    auth->say = say;
    log_missing_users(auth, &auth->tokens, auth->holders);
}

int adl_auth_create(const char *admin_group, const char *token_path, struct adl_auth **ret, struct adl_error *err)
{
    struct adl_auth *auth = calloc(1, sizeof *auth);
    if (!auth || pthread_mutex_init(&auth->mutex, NULL) != 0) {
        free(auth);
        return adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    }
    int status = ADL_OK;
    auth->admin_group = ADL_ACCOUNT_NO_GROUP;
    if (token_path && !(auth->path = strdup(token_path)))
        status = adl_fail(err, ADL_ENOMEM, "no memory for the tokens");
    if (status == ADL_OK && admin_group)
        status = adl_account_find_group(admin_group, &auth->admin_group, err);
    if (status == ADL_OK)
        status = adl_auth_reload(auth, err);
    if (status < 0)
        adl_auth_destroy(auth);
    else
        *ret = auth;
    return status;
}

void adl_auth_destroy(struct adl_auth *auth)
{
    if (!auth)
        return;
    pthread_mutex_destroy(&auth->mutex);
    adl_tokens_clear(&auth->tokens);
    free(auth->holders);
    free(auth->path);
    free(auth);
}

bool adl_auth_has_tokens(const struct adl_auth *auth)
{
    return auth->path != NULL;
}

int adl_auth_socket(struct adl_auth *auth, int fd, struct adl_caller *ret, struct adl_error *err)
{
    struct adl_caller caller = {.known = true};
    const int status = adl_account_of_socket(fd, auth->admin_group, &caller.account, err);
    if (status < 0)
        return status;
    caller.admin = is_admin(&caller.account);
    *ret = caller;
    return ADL_OK;
}

/* Under the mutex; returns the count if there is none. */
static size_t find_token(const struct adl_auth *auth, const char *id)
{
    size_t at = 0;
    while (at < auth->tokens.count && strcmp(auth->tokens.items[at].id, id) != 0)
        at++;
    return at;
}

/* Under the mutex: whether a token whose secret was verified, now or before, is still valid for its user. */
static bool is_good(struct adl_auth *auth, size_t at)
{
    const struct adl_token *token = &auth->tokens.items[at];
    struct holder *holder = &auth->holders[at];
    const int64_t now = now_s();
    if (adl_token_expired(token, now))
        return false;
    if (!holder->caller.known || now - holder->lookup_s >= LOOKUP_S || now < holder->lookup_s)
        look_up(auth, token, holder);
    return holder->caller.known;
}

bool adl_auth_bearer(struct adl_auth *auth, const char *header, struct adl_caller *ret)
{
    static const struct adl_token nobody; /* so that an unknown id takes as long as a known one */
    char id[ADL_TOKEN_ID_SIZE];
    uint8_t secret[32];
    const size_t scheme = sizeof BEARER_PREFIX - 1;
    if (strncasecmp(header, BEARER_PREFIX, scheme) != 0 ||
        !adl_token_split(header + scheme + strspn(header + scheme, " "), id, secret))
        return false;
    refresh(auth);
    pthread_mutex_lock(&auth->mutex);
    const size_t at = find_token(auth, id);
    const bool known = at < auth->tokens.count;
    const bool right =
        adl_token_proves(known ? &auth->tokens.items[at] : &nobody, secret) && known && is_good(auth, at);
    if (right)
        *ret = auth->holders[at].caller;
    pthread_mutex_unlock(&auth->mutex);
    return right;
}

bool adl_auth_holds(struct adl_auth *auth, const struct adl_caller *caller)
{
    if (caller->token[0] == '\0')
        return true;
    refresh(auth);
    pthread_mutex_lock(&auth->mutex);
    const size_t at = find_token(auth, caller->token);
    const bool holds = at < auth->tokens.count && is_good(auth, at);
    pthread_mutex_unlock(&auth->mutex);
    return holds;
}
