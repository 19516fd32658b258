#include "cli/discover/findings.h"

#include "base/index.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adl_findings_clear(struct adl_findings *findings)
{
    free(findings->nodes);
    adl_text_clear(&findings->notes);
    *findings = (struct adl_findings){0};
}

void adl_findings_tidy(const char *name, char ret[ADL_NAME_SIZE])
{
    size_t used = 0;
    for (; *name && used + 1 < ADL_NAME_SIZE; name++) {
        const bool alpha =
            (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9');
        const bool usual = alpha || *name == '.' || *name == '_' || *name == '+' || *name == '-';
        if (alpha || used > 0)
            ret[used++] = usual ? *name : '-';
    }
    ret[used] = '\0';
    if (used == 0)
        snprintf(ret, ADL_NAME_SIZE, "node");
}

struct adl_found_node *adl_findings_node(struct adl_findings *findings, const char *name)
{
    char tidy[ADL_NAME_SIZE];
    adl_findings_tidy(name, tidy);
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->nodes[i].name, tidy) == 0)
            return &findings->nodes[i];
    if (adl_grow((void **)&findings->nodes, &findings->capacity, findings->count + 1, sizeof *findings->nodes))
        return NULL;
    struct adl_found_node *node = &findings->nodes[findings->count++];
    *node = (struct adl_found_node){0};
    memcpy(node->name, tidy, sizeof tidy);
    return node;
}

static bool is_equal(const struct adl_smi_gpu *a, const struct adl_smi_gpu *b)
{
    return strcmp(a->device.type, b->device.type) == 0 && a->device.memory_mib == b->device.memory_mib &&
           a->device.limit_w == b->device.limit_w;
}

void adl_findings_add(struct adl_findings *findings, struct adl_found_node *node, const struct adl_smi_gpu *gpu,
                      uint32_t count)
{
    uint32_t i = 0;
    while (i < node->bank_count && !is_equal(&node->banks[i].gpu, gpu))
        i++;
    if (i == ADL_FOUND_BANKS_MAX) {
        adl_findings_note(findings, "%s has more than %u kinds of GPUs: the rest is left out", node->name,
                          ADL_FOUND_BANKS_MAX);
        return;
    }
    if (i == node->bank_count)
        node->banks[node->bank_count++] = (struct adl_found_bank){.gpu = *gpu};
    node->banks[i].count += count;
}

void adl_findings_note(struct adl_findings *findings, const char *fmt, ...)
{
    char line[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    adl_text_put(&findings->notes, line);
    adl_text_char(&findings->notes, '\n');
}
