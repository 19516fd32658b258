/* json_has FILE PATH...: succeeds if FILE is one JSON value and nothing else, and has something at every path. A path
 * is keys and indices with dots between them: policies.0.metrics.jct_mean_s.mean. Used by check_cli. */
#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = 0, capacity = 1 << 16;
    char *text = file ? malloc(capacity) : NULL;
    while (text) {
        size += fread(text + size, 1, capacity - 1 - size, file);
        if (size + 1 < capacity)
            break;
        char *grown = realloc(text, capacity *= 2);
        if (!grown)
            free(text);
        text = grown;
    }
    if (text)
        text[size] = '\0';
    if (file)
        fclose(file);
    return text;
}

static const cJSON *find(const cJSON *at, char *path)
{
    for (char *part = strtok(path, "."); at && part; part = strtok(NULL, "."))
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(part)) : cJSON_GetObjectItemCaseSensitive(at, part);
    return at;
}

int main(int argc, char **argv)
{
    char *text = argc < 2 ? NULL : read_all(argv[1]);
    cJSON *json = text ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;
    int missing = 0;
    if (!json)
        fprintf(stderr, "%s is not JSON\n", argc < 2 ? "nothing" : argv[1]);
    for (int i = 2; json && i < argc; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s", argv[i]);
        if (!find(json, path)) {
            fprintf(stderr, "%s has no %s\n", argv[1], argv[i]);
            missing++;
        }
    }
    cJSON_Delete(json);
    free(text);
    return json && missing == 0 ? 0 : 1;
}
