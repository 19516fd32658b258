#include "twin/change.h"

#include "base/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 1024
#define GPUS_MAX  64 /* of a new node */

bool adl_change_words_of_job(const struct adl_change_words *words)
{
    return words->types || words->gpus > 0 || words->limit_s > 0 || words->priority >= 0;
}

bool adl_change_words_any(const struct adl_change_words *words)
{
    return adl_change_words_of_job(words) || words->add_nodes || words->drain || words->policy;
}

static void add_text(struct adl_change *change, const char *what, const char *value)
{
    const size_t used = strlen(change->text);
    snprintf(change->text + used, sizeof change->text - used, "%s%s%s", used > 0 ? ", " : "", what, value);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_same(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    return lower(*a) == lower(*b);
}

static int read_type(const struct adl_cluster *cluster, const char *name, size_t size, uint32_t *ret,
                     struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE], word[ADL_NAME_SIZE], known[160] = "";
    snprintf(word, sizeof word, "%.*s", (int)(size < sizeof word ? size : sizeof word - 1), name);
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        if (is_same(cluster->types[t].name, word) && cluster->type_gpus[t] > 0) {
            *ret = t;
            return 0;
        }
        if (cluster->type_gpus[t] > 0)
            adl_list_append(known, sizeof known, cluster->types[t].name);
    }
    return adl_fail(err, ADL_EINVAL, "there is no GPU type %s here; the types are %s", adl_quote(word, quoted), known);
}

static int read_types(const char *text, const struct adl_cluster *cluster, struct adl_change *ret,
                      struct adl_error *err)
{
    const bool more = *text == '+';
    uint32_t types = 0;
    int status = 0;
    for (const char *at = text + more; at && status == 0; at = strpbrk(at, "|,+") ? strpbrk(at, "|,+") + 1 : NULL) {
        uint32_t type = 0;
        status = read_type(cluster, at, strcspn(at, "|,+"), &type, err);
        types |= status == 0 ? UINT32_C(1) << type : 0;
    }
    if (more)
        ret->add_types = types;
    else
        ret->set_types = types;
    add_text(ret, more ? "allowing " : "with type ", text + more);
    return status;
}

static int read_nodes(const char *text, const struct adl_cluster *cluster, struct adl_change *ret,
                      struct adl_error *err)
{
    char quoted[ADL_QUOTE_SIZE];
    char *times = NULL, *end = NULL;
    const char *colon = strchr(text, ':');
    const bool number = *text >= '0' && *text <= '9' && colon && colon[1] >= '0' && colon[1] <= '9';
    const unsigned long long nodes = number ? strtoull(text, &times, 10) : 0;
    const unsigned long long gpus = number ? strtoull(colon + 1, &end, 10) : 0;
    if (!number || lower(*times) != 'x' || *end != '\0' || nodes < 1 || nodes > NODES_MAX || gpus < 1 ||
        gpus > GPUS_MAX)
        return adl_fail(err, ADL_EINVAL,
                        "new nodes have to be as 2xa100:8 (two nodes with eight a100 each; at most %d nodes and %d "
                        "GPUs), not %s",
                        NODES_MAX, GPUS_MAX, adl_quote(text, quoted));
    ret->nodes = (uint32_t)nodes;
    ret->node_gpus = (uint32_t)gpus;
    add_text(ret, "with new nodes ", text);
    return read_type(cluster, times + 1, (size_t)(colon - times - 1), &ret->node_type, err);
}

static void add_drain_text(const char *name, int64_t in_us, struct adl_change *ret)
{
    char when[40] = "";
    const double minutes = (double)in_us / 6e7;
    if (minutes >= 1)
        snprintf(when, sizeof when, minutes < 99.5 ? " in %.0f min" : " in %.1f h",
                 minutes < 99.5 ? minutes : minutes / 60);
    add_text(ret, "draining ", name);
    snprintf(ret->text + strlen(ret->text), sizeof ret->text - strlen(ret->text), "%s", when);
}

static int read_drain(const struct adl_change_words *words, const struct adl_cluster *cluster, struct adl_change *ret,
                      struct adl_error *err)
{
    const char *name = words->drain;
    char quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = name};
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        adl_suggest_offer(&suggest, cluster->nodes[n].name);
        if (strcmp(cluster->nodes[n].name, name) != 0)
            continue;
        ret->drains = true;
        ret->drain_node = n;
        add_drain_text(name, words->drain_in_us, ret);
        return 0;
    }
    return adl_fail(err, ADL_EINVAL, "there is no node %s here%s", adl_quote(name, quoted),
                    adl_suggest_phrase(&suggest, phrase));
}

static int read_numbers(const struct adl_change_words *words, struct adl_change *ret, struct adl_error *err)
{
    char number[40];
    if (words->gpus > ADL_JOB_GPUS_MAX)
        return adl_fail(err, ADL_EINVAL, "a job has at most %d GPUs", ADL_JOB_GPUS_MAX);
    if (words->priority > 1)
        return adl_fail(err, ADL_EINVAL, "a priority is between 0 and 1, not %g", words->priority);
    if (words->gpus > 0) {
        ret->gpus = (uint16_t)words->gpus;
        snprintf(number, sizeof number, "%u GPU%s", ret->gpus, ret->gpus == 1 ? "" : "s");
        add_text(ret, "with ", number);
    }
    if (words->limit_s > 0) {
        ret->limit_us = words->limit_s * 1000000;
        snprintf(number, sizeof number, "%.4g h", (double)words->limit_s / 3600);
        add_text(ret, "with a time limit of ", number);
    }
    if (words->priority >= 0) {
        ret->has_priority = true;
        ret->priority = (float)words->priority;
        snprintf(number, sizeof number, "%g", words->priority);
        add_text(ret, "with priority ", number);
    }
    return 0;
}

int adl_change_read(const struct adl_change_words *words, const struct adl_cluster *cluster, struct adl_change *ret,
                    struct adl_error *err)
{
    struct adl_change change = {.drain_us = words->drain_us};
    int status = words->types ? read_types(words->types, cluster, &change, err) : 0;
    if (status == 0)
        status = read_numbers(words, &change, err);
    if (status == 0 && words->policy) {
        change.policy = words->policy;
        change.policy_config = words->policy_config;
        add_text(&change, "under ", words->policy->name);
    }
    if (status == 0 && words->add_nodes)
        status = read_nodes(words->add_nodes, cluster, &change, err);
    if (status == 0 && words->drain)
        status = read_drain(words, cluster, &change, err);
    if (status == 0)
        *ret = change;
    return status;
}
