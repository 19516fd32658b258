#include "http/http_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 256

static int new_socket(int family, int *ret_fd, struct adl_error *err)
{
    const int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
        const int error = errno;
        if (fd >= 0)
            close(fd);
        return adl_fail(err, ADL_EIO, "no socket to listen on: %s", strerror(error));
    }
    *ret_fd = fd;
    return ADL_OK;
}

/* If a service is killed while it forks, the child keeps its sockets open for some milliseconds, until exec. So a
 * socket that accepts is tried again. EAGAIN: a service listens and is busy. */
static bool is_served(const struct sockaddr_un *address)
{
    for (int i = 0; i < 10; i++) {
        const struct timespec pause = {0, 50000000};
        const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        const bool answered =
            fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno != ECONNREFUSED);
        if (fd >= 0)
            close(fd);
        if (!answered)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Removes a socket that nobody listens on, because a crash left it behind; anything else stays. */
static int clear_path(const struct sockaddr_un *address, struct adl_error *err)
{
    struct stat about;
    if (lstat(address->sun_path, &about) < 0)
        return errno == ENOENT ? ADL_OK : adl_fail(err, ADL_EIO, "%s: %s", address->sun_path, strerror(errno));
    if (!S_ISSOCK(about.st_mode))
        return adl_fail(err, ADL_EREFUSED, "%s: exists and is not a socket; remove it or choose another path",
                        address->sun_path);
    if (is_served(address))
        return adl_fail(err, ADL_EREFUSED, "%s: another service listens there", address->sun_path);
    if (unlink(address->sun_path) < 0 && errno != ENOENT)
        return adl_fail(err, ADL_EIO, "%s: cannot be removed: %s", address->sun_path, strerror(errno));
    return ADL_OK;
}

/* Nobody can connect before listen(), and mode and group are set by then. */
static int bind_unix(struct adl_http *http, int fd, const struct sockaddr_un *address, const char *group,
                     struct adl_error *err)
{
    gid_t gid = (gid_t)-1;
    struct stat about;
    const char *path = address->sun_path;
    const int status = group ? adl_account_find_group(group, &gid, err) : ADL_OK;
    if (status < 0)
        return status;
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        return adl_fail(err, ADL_EIO, "%s: cannot be created: %s", path, strerror(errno));
    if (lstat(path, &about) < 0 || !(http->unix_path = strdup(path)))
        return adl_fail(err, ADL_EIO, "%s: has disappeared", path);
    http->unix_device = about.st_dev;
    http->unix_inode = about.st_ino;
    if (group && lchown(path, (uid_t)-1, gid) < 0)
        return adl_fail(err, ADL_EIO, "%s: cannot be given to group %s: %s", path, group, strerror(errno));
    /* A service of root is open to all users, whom it can identify; a user's own service only to that user. */
    if (chmod(path, !group && geteuid() == 0 ? 0666 : 0660) < 0 || listen(fd, BACKLOG) < 0)
        return adl_fail(err, ADL_EIO, "%s: %s", path, strerror(errno));
    return ADL_OK;
}

int adl_listen_unix(struct adl_http *http, const char *path, const char *group, int *ret_fd, struct adl_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = -1;
    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path)
        return adl_fail(err, ADL_EINVAL, "the path of a Unix socket has 1 to %zu bytes, not %zu",
                        sizeof address.sun_path - 1, strlen(path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    int status = clear_path(&address, err);
    if (status == ADL_OK)
        status = new_socket(AF_UNIX, &fd, err);
    if (status == ADL_OK)
        status = bind_unix(http, fd, &address, group, err);
    if (status < 0 && fd >= 0)
        close(fd);
    if (status == ADL_OK)
        *ret_fd = fd;
    return status;
}

void adl_listen_remove(struct adl_http *http)
{
    struct stat about;
    if (http->unix_path && lstat(http->unix_path, &about) == 0 && about.st_dev == http->unix_device &&
        about.st_ino == http->unix_inode)
        unlink(http->unix_path);
    free(http->unix_path);
    http->unix_path = NULL;
}

/* "HOST:PORT" with a numeric host, in brackets if it is IPv6. */
static int parse_address(const char *text, struct addrinfo **ret, struct adl_error *err)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    const bool bracketed = text[0] == '[';
    const size_t size = colon ? (size_t)(colon - text) - (bracketed ? 2 : 0) : 0;
    if (!colon || colon == text || size >= sizeof host || (bracketed && (colon - text < 3 || colon[-1] != ']')))
        return adl_fail(err, ADL_EINVAL, "tcp: '%.80s' must be like 127.0.0.1:8080 or [::1]:8080", text);
    /* getaddrinfo() accepts ports above 65535. */
    const size_t digits = strspn(colon + 1, "0123456789");
    if (digits < 1 || digits > 5 || colon[1 + digits] != '\0' || strtol(colon + 1, NULL, 10) > 65535)
        return adl_fail(err, ADL_EINVAL, "tcp: the port in '%.80s' must be a number up to 65535", text);
    memcpy(host, text + (bracketed ? 1 : 0), size);
    host[size] = '\0';
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_family = bracketed ? AF_INET6 : AF_INET,
                                   .ai_socktype = SOCK_STREAM};
    const int error = getaddrinfo(host, colon + 1, &hints, ret);
    if (error != 0)
        return adl_fail(err, ADL_EINVAL, "tcp: '%.80s' must be like 127.0.0.1:8080 or [::1]:8080: %s", text,
                        gai_strerror(error));
    return ADL_OK;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr) != 0;
}

static int bind_tcp(struct adl_http *http, const struct addrinfo *info, int *ret_fd, struct adl_error *err)
{
    int fd = -1;
    const int status = new_socket(info->ai_family, &fd, err);
    if (status < 0)
        return status;
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    const int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        (info->ai_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
        bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &size) < 0) {
        const int error = errno;
        close(fd);
        return adl_fail(err, ADL_EIO, "tcp: cannot listen: %s", strerror(error));
    }
    http->port = ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&bound)->sin_port
                                                  : ((struct sockaddr_in6 *)(void *)&bound)->sin6_port);
    *ret_fd = fd;
    return ADL_OK;
}

int adl_listen_tcp(struct adl_http *http, const char *address, bool tls, int *ret_fd, struct adl_error *err)
{
    struct addrinfo *info = NULL;
    int status = parse_address(address, &info, err);
    if (status < 0 || !info)
        return status;
    if (!tls && !is_loopback(info->ai_addr))
        status = adl_fail(err, ADL_EREFUSED,
                          "tcp: %s is not loopback, so tokens would cross the network in the clear; give a TLS "
                          "certificate and key, or listen on 127.0.0.1",
                          address);
    if (status == ADL_OK)
        status = bind_tcp(http, info, ret_fd, err);
    freeaddrinfo(info);
    return status;
}

#define PEM_SIZE_MAX (1 << 20)

int adl_listen_read_pem(const char *path, bool secret, char **ret, struct adl_error *err)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) < 0) {
        const int error = errno;
        if (fd >= 0)
            close(fd);
        return adl_fail(err, ADL_EIO, "%s: %s", path, strerror(error));
    }
    char *text = NULL;
    int status = ADL_OK;
    if (!S_ISREG(about.st_mode) || about.st_size < 1 || about.st_size > PEM_SIZE_MAX)
        status = adl_fail(err, ADL_EINVAL, "%s: is not a PEM file of at most %d bytes", path, PEM_SIZE_MAX);
    /* A group may read it: keys are often kept for a group of services. */
    else if (secret && (about.st_mode & 027) != 0)
        status = adl_fail(err, ADL_EINVAL, "%s: the key's mode is %04o; chmod 600 or 640 it", path,
                          (unsigned)(about.st_mode & 07777));
    else if (!(text = calloc(1, (size_t)about.st_size + 1)))
        status = adl_fail(err, ADL_ENOMEM, "no memory for %s", path);
    else if (read(fd, text, (size_t)about.st_size) != (ssize_t)about.st_size)
        status = adl_fail(err, ADL_EIO, "%s: could not be read completely", path);
    close(fd);
    if (status == ADL_OK)
        *ret = text;
    else
        free(text);
    return status;
}
