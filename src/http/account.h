/* account: a user of this machine: uid, groups, name. */
#ifndef ADLRO_HTTP_ACCOUNT_H
#define ADLRO_HTTP_ACCOUNT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ADL_ACCOUNT_NAME_SIZE 64
#define ADL_ACCOUNT_PATH_SIZE 1024

struct adl_account {
    uid_t uid;
    gid_t gid;
    pid_t pid;                        /* of the peer that connected; 0 if there is none */
    char name[ADL_ACCOUNT_NAME_SIZE]; /* "#1234" for a uid without a name */
    bool in_group;                    /* in the group passed by the caller */
};

#define ADL_ACCOUNT_NO_GROUP ((gid_t)-1)

/* The process at the other end of a connected Unix socket, with its groups, as of the time it connected. */
int adl_account_of_socket(int fd, gid_t group, struct adl_account *ret, struct adl_error *err);

int adl_account_of_name(const char *name, gid_t group, struct adl_account *ret, struct adl_error *err);

/* A user's home directory and shell; "/" and "/bin/sh" if the account has none. */
struct adl_account_login {
    char home[ADL_ACCOUNT_PATH_SIZE], shell[ADL_ACCOUNT_PATH_SIZE];
};
struct adl_account_login adl_account_login(uid_t uid);

/* The supplementary groups of a user, at most max; returns how many. None if there is no such user. */
uint32_t adl_account_groups(const char *name, gid_t gid, gid_t *ret, uint32_t max);

int adl_account_find_group(const char *name, gid_t *ret, struct adl_error *err);

#endif
