#include "http/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ENTRY_SIZE 65536 /* of an entry of the user or group database; groups can be long */
#define GROUP_MAX  65536 /* the kernel's limit for one process */

static void name_of(uid_t uid, char name[ADL_ACCOUNT_NAME_SIZE])
{
    struct passwd entry, *found = NULL;
    char *buffer = malloc(ENTRY_SIZE);
    snprintf(name, ADL_ACCOUNT_NAME_SIZE, "#%lu", (unsigned long)uid);
    if (buffer && getpwuid_r(uid, &entry, buffer, ENTRY_SIZE, &found) == 0 && found &&
        strlen(found->pw_name) < ADL_ACCOUNT_NAME_SIZE)
        snprintf(name, ADL_ACCOUNT_NAME_SIZE, "%s", found->pw_name);
    free(buffer);
}

static bool is_among(gid_t group, const gid_t *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return false;
}

static int peer_in_group(int fd, gid_t group, bool *ret, struct adl_error *err)
{
    socklen_t size = 256 * sizeof(gid_t);
    for (int attempt = 0; attempt < 2 && size <= GROUP_MAX * sizeof(gid_t); attempt++) {
        gid_t *groups = malloc(size);
        if (!groups)
            break;
        const int status = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size); /* sets the size needed */
        if (status == 0)
            *ret = is_among(group, groups, size / sizeof(gid_t));
        free(groups);
        if (status == 0)
            return ADL_OK;
    }
    return adl_fail(err, ADL_EIO, "the groups of a client cannot be read");
}

int adl_account_of_socket(int fd, gid_t group, struct adl_account *ret, struct adl_error *err)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || size != sizeof peer)
        return adl_fail(err, ADL_EIO, "the credentials of a client cannot be read: %s", strerror(errno));
    struct adl_account account = {.uid = peer.uid, .gid = peer.gid, .pid = peer.pid};
    account.in_group = group != ADL_ACCOUNT_NO_GROUP && peer.gid == group;
    if (group != ADL_ACCOUNT_NO_GROUP && !account.in_group) {
        const int status = peer_in_group(fd, group, &account.in_group, err);
        if (status < 0)
            return status;
    }
    name_of(account.uid, account.name);
    *ret = account;
    return ADL_OK;
}

static int name_in_group(const char *name, gid_t primary, gid_t group, bool *ret, struct adl_error *err)
{
    int count = 64;
    for (int attempt = 0; attempt < 2 && count > 0 && count <= GROUP_MAX; attempt++) {
        gid_t *groups = malloc((size_t)count * sizeof *groups);
        if (!groups)
            break;
        const int status = getgrouplist(name, primary, groups, &count); /* sets the count needed */
        if (status >= 0)
            *ret = is_among(group, groups, (size_t)count);
        free(groups);
        if (status >= 0)
            return ADL_OK;
    }
    return adl_fail(err, ADL_EIO, "the groups of user '%s' cannot be read", name);
}

int adl_account_of_name(const char *name, gid_t group, struct adl_account *ret, struct adl_error *err)
{
    struct passwd entry, *found = NULL;
    struct adl_account account = {0};
    if (strlen(name) >= sizeof account.name)
        return adl_fail(err, ADL_EINVAL, "a user's name has fewer than %d bytes", ADL_ACCOUNT_NAME_SIZE);
    char *buffer = malloc(ENTRY_SIZE);
    if (!buffer)
        return adl_fail(err, ADL_ENOMEM, "no memory to look up user '%s'", name);
    const int error = getpwnam_r(name, &entry, buffer, ENTRY_SIZE, &found);
    if (found) {
        account.uid = found->pw_uid;
        account.gid = found->pw_gid;
        snprintf(account.name, sizeof account.name, "%s", name);
    }
    free(buffer);
    if (error != 0)
        return adl_fail(err, ADL_EIO, "user '%s' could not be looked up: %s", name, strerror(error));
    if (!found)
        return adl_fail(err, ADL_EINVAL, "there is no user '%s' on this machine", name);
    if (group != ADL_ACCOUNT_NO_GROUP) {
        const int status = name_in_group(name, account.gid, group, &account.in_group, err);
        if (status < 0)
            return status;
    }
    *ret = account;
    return ADL_OK;
}

static void copy_path(char ret[ADL_ACCOUNT_PATH_SIZE], const char *path)
{
    if (path && path[0] == '/' && strlen(path) < ADL_ACCOUNT_PATH_SIZE)
        snprintf(ret, ADL_ACCOUNT_PATH_SIZE, "%s", path);
}

struct adl_account_login adl_account_login(uid_t uid)
{
    struct adl_account_login login = {.home = "/", .shell = "/bin/sh"};
    struct passwd entry, *found = NULL;
    char *buffer = malloc(ENTRY_SIZE);
    if (buffer && getpwuid_r(uid, &entry, buffer, ENTRY_SIZE, &found) == 0 && found) {
        copy_path(login.home, found->pw_dir);
        copy_path(login.shell, found->pw_shell);
    }
    free(buffer);
    return login;
}

int adl_account_find_group(const char *name, gid_t *ret, struct adl_error *err)
{
    struct group entry, *found = NULL;
    char *buffer = malloc(ENTRY_SIZE);
    if (!buffer)
        return adl_fail(err, ADL_ENOMEM, "no memory to look up group '%s'", name);
    const int error = getgrnam_r(name, &entry, buffer, ENTRY_SIZE, &found);
    if (found)
        *ret = found->gr_gid;
    free(buffer);
    if (error != 0)
        return adl_fail(err, ADL_EIO, "group '%s' could not be looked up: %s", name, strerror(error));
    return found ? ADL_OK : adl_fail(err, ADL_EINVAL, "there is no group '%s' on this machine", name);
}

uint32_t adl_account_groups(const char *name, gid_t gid, gid_t *ret, uint32_t max)
{
    int count = (int)max;
    const int status = name[0] == '#' || max == 0 ? 0 : getgrouplist(name, gid, ret, &count);
    if (name[0] == '#' || count < 0)
        return 0;
    return status < 0 ? max : (uint32_t)count;
}
