#include "powercap/allow_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 32768
#define W_MAX    2500.0

static const char id_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-";

static bool is_id(const char *text)
{
    const size_t length = strlen(text);
    return strcmp(text, "*") == 0 ||
           (length > 0 && length < ADL_POWERCAP_ID_SIZE && strspn(text, id_letters) == length);
}

/* Watts as milliwatts; 0: it is no such number. */
static uint32_t read_mw(const char *text)
{
    char *end = NULL;
    const double value_w = strtod(text, &end);
    return *text >= '0' && *text <= '9' && *end == '\0' && value_w >= 1 && value_w <= W_MAX
               ? (uint32_t)(value_w * 1000 + 0.5)
               : 0;
}

static int read_line(const char *name, unsigned number, char *line, struct adl_allow_list *list, struct adl_error *err)
{
    char *rest = NULL, *words[4] = {0};
    uint32_t count = 0;
    line[strcspn(line, "#")] = '\0';
    for (char *word = strtok_r(line, " \t\r", &rest); word && count < 4; word = strtok_r(NULL, " \t\r", &rest))
        words[count++] = word;
    if (count == 0)
        return 0;
    if (count != 3 || !is_id(words[0]))
        return adl_fail(err, ADL_EINVAL,
                        "%s:%u: a line is GPU LEAST_W MOST_W, for example GPU-4d5e 100 300 or * 150 400", name, number);
    struct adl_allow_entry it = {.least_mw = read_mw(words[1]), .most_mw = read_mw(words[2])};
    if (it.least_mw == 0 || it.most_mw < it.least_mw)
        return adl_fail(err, ADL_EINVAL, "%s:%u: watts must be between 1 and %.0f, the least first", name, number,
                        W_MAX);
    snprintf(it.id, sizeof it.id, "%s", words[0]);
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].id, it.id) == 0)
            return adl_fail(err, ADL_EINVAL, "%s:%u: %s stands in the list twice", name, number, it.id);
    if (list->count == ADL_POWERCAP_GPUS_MAX)
        return adl_fail(err, ADL_EINVAL, "%s:%u: at most %d GPUs", name, number, ADL_POWERCAP_GPUS_MAX);
    list->entries[list->count++] = it;
    return 0;
}

int adl_allow_list_read(const char *name, const char *text, struct adl_allow_list *ret, struct adl_error *err)
{
    struct adl_allow_list list = {.count = 0};
    char line[256];
    for (unsigned number = 1; *text; number++) {
        const size_t length = strcspn(text, "\n");
        if (length >= sizeof line)
            return adl_fail(err, ADL_EINVAL, "%s:%u: a line has fewer than %zu bytes", name, number, sizeof line);
        memcpy(line, text, length);
        line[length] = '\0';
        const int status = read_line(name, number, line, &list, err);
        if (status)
            return status;
        text += length + (text[length] == '\n');
    }
    if (list.count == 0)
        return adl_fail(err, ADL_EINVAL, "%s: no GPU is allowed", name);
    *ret = list;
    return 0;
}

int adl_allow_list_load(const char *path, struct adl_allow_list *ret, struct adl_error *err)
{
    static char text[FILE_MAX + 1];
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return adl_fail(err, ADL_EIO, "%.200s cannot be opened: %s", path, strerror(errno));
    const bool known = fstat(fd, &about) == 0;
    const ssize_t size = known ? read(fd, text, sizeof text) : -1;
    close(fd);
    if (!known || !S_ISREG(about.st_mode) || (about.st_uid != 0 && about.st_uid != geteuid()) || about.st_mode & 022)
        return adl_fail(err, ADL_EINVAL, "%.200s must be a file of root that nobody else can write", path);
    if (size < 0 || size > FILE_MAX)
        return adl_fail(err, ADL_EINVAL, "%.200s must be readable and have at most %d bytes", path, FILE_MAX);
    text[size] = '\0';
    if (strlen(text) != (size_t)size)
        return adl_fail(err, ADL_EINVAL, "%.200s has a zero byte", path);
    return adl_allow_list_read(path, text, ret, err);
}

const struct adl_allow_entry *adl_allow_list_find(const struct adl_allow_list *list, const char *id)
{
    const struct adl_allow_entry *others = NULL;
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->entries[i].id, id) == 0)
            return &list->entries[i];
        if (strcmp(list->entries[i].id, "*") == 0)
            others = &list->entries[i];
    }
    return others;
}
