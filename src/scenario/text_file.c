#include "scenario/text_file.h"

#include "scenario/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads to the end of any kind of file (it may be a pipe), at most the limit of the YAML reader. */
static int read_stream(FILE *stream, const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    size_t size = 0, capacity = 16384;
    char *text = malloc(capacity + 1);
    while (text) {
        size += fread(text + size, 1, capacity - size, stream);
        if (size < capacity)
            break;
        if (size > ADL_YAML_SIZE_MAX) {
            free(text);
            return adl_fail(err, ADL_EINVAL, "%.200s has more than %u bytes", path, ADL_YAML_SIZE_MAX);
        }
        capacity *= 2;
        char *grown = realloc(text, capacity + 1);
        if (!grown)
            free(text);
        text = grown;
    }
    if (!text)
        return adl_fail(err, ADL_ENOMEM, "out of memory for %.200s", path);
    if (ferror(stream)) {
        adl_fail(err, ADL_EIO, "cannot read %.200s: %s", path, strerror(errno));
        free(text);
        return ADL_EIO;
    }
    text[size] = '\0';
    *ret_text = text;
    *ret_size = size;
    return 0;
}

int adl_text_file_read(const char *path, char **ret_text, size_t *ret_size, struct adl_error *err)
{
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return adl_fail(err, ADL_EIO, "cannot open %.200s: %s", path, strerror(errno));
    const int status = read_stream(stream, path, ret_text, ret_size, err);
    fclose(stream);
    return status;
}

char *adl_path_beside(const char *name, const char *file)
{
    const char *slash = strrchr(name, '/');
    const size_t folder = slash && file[0] != '/' ? (size_t)(slash - name) + 1 : 0;
    const size_t length = strlen(file);
    char *path = malloc(folder + length + 1);
    if (path) {
        memcpy(path, name, folder);
        memcpy(path + folder, file, length + 1);
    }
    return path;
}
