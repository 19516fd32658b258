/* profile_create: the memory of a profile: create, copy, destroy. */
#include "policy/adlro/profile_internal.h"

#include "base/fetch.h"

#include <stdlib.h>
#include <string.h>

void adl_free_profile_destroy(struct adl_free_profile *profile)
{
    if (!profile)
        return;
    free(profile->nodes);
    free(profile->due_us);
    free(profile->index);
    free(profile->ends);
    free(profile->known);
    free(profile->free_in);
    free(profile->bounds);
    free(profile->planned);
    free(profile->behind);
    free(profile->is_behind);
    free(profile->earliest);
    free(profile->may_have);
    free(profile->steps);
    free(profile->gpus);
    free(profile->ready);
    free(profile->banks);
    free(profile);
}

static size_t ready_rows(const struct adl_cluster *cluster, struct type_banks *types)
{
    size_t size = 0;
    for (uint32_t b = 0; b < cluster->bank_count; b++) {
        struct type_banks *type = &types[cluster->banks[b].type];
        type->count++;
        type->widest = cluster->banks[b].gpu_count > type->widest ? cluster->banks[b].gpu_count : type->widest;
    }
    for (uint32_t t = 0; t < cluster->type_count; t++)
        size += (size_t)types[t].count * types[t].widest;
    return size;
}

static void list_types(struct adl_free_profile *profile)
{
    const struct adl_cluster *cluster = profile->cluster;
    uint32_t *banks = profile->banks;
    int64_t *ready = profile->ready;
    for (uint32_t t = 0; t < cluster->type_count; t++) {
        struct type_banks *type = &profile->types[t];
        uint32_t count = 0;
        type->banks = banks;
        type->ready = ready;
        type->unplanned = ready + profile->ready_count;
        for (uint32_t b = 0; b < cluster->bank_count; b++)
            if (cluster->banks[b].type == t) {
                profile->index[b] = count;
                type->banks[count++] = b;
            }
        banks += count;
        ready += (size_t)count * type->widest;
    }
}

static void list_nodes(struct adl_free_profile *profile)
{
    struct adl_step *steps = profile->steps;
    int32_t *gpus = profile->gpus;
    for (uint32_t n = 0; n < profile->cluster->node_count; n++) {
        const struct adl_node *it = &profile->cluster->nodes[n];
        const uint32_t room = adl_node_profile_steps(it);
        profile->nodes[n] = (struct adl_node_profile){.base = steps,
                                                      .planned = steps + room,
                                                      .base_gpus = gpus,
                                                      .planned_gpus = gpus + (size_t)room * it->bank_count,
                                                      .capacity = room,
                                                      .banks = it->bank_count,
                                                      .bank_first = it->bank_first};
        profile->due_us[n] = ADL_STALE;
        steps += (size_t)2 * room;
        gpus += (size_t)2 * room * it->bank_count;
    }
}

int adl_free_profile_create(const struct adl_cluster *cluster, const struct adl_corrections *corrections,
                            int64_t switch_us, struct adl_free_profile **ret)
{
    struct adl_free_profile *profile = calloc(1, sizeof *profile);
    size_t steps = 1, gpus = 1;
    if (!profile)
        return ADL_ENOMEM;
    profile->cluster = cluster;
    profile->switch_us = switch_us;
    profile->corrections = corrections;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const size_t room = adl_node_profile_steps(&cluster->nodes[n]);
        steps += 2 * room;
        gpus += 2 * room * cluster->nodes[n].bank_count;
    }
    profile->nodes = calloc((size_t)cluster->node_count + 1, sizeof *profile->nodes);
    profile->due_us = calloc((size_t)cluster->node_count + 1, sizeof *profile->due_us);
    profile->step_count = steps;
    profile->gpu_count = gpus;
    profile->ready_count = ready_rows(cluster, profile->types) + 1;
    profile->steps = calloc(steps, sizeof *profile->steps);
    profile->gpus = calloc(gpus, sizeof *profile->gpus);
    profile->ready = calloc(2 * profile->ready_count, sizeof *profile->ready);
    profile->banks = calloc((size_t)cluster->bank_count + 1, sizeof *profile->banks);
    profile->ends = calloc((size_t)cluster->gpu_count + 1, sizeof *profile->ends);
    profile->index = calloc((size_t)cluster->bank_count + 1, sizeof *profile->index);
    profile->known = calloc((size_t)cluster->bank_count + 1, sizeof *profile->known);
    profile->free_in = calloc((size_t)cluster->bank_count + 1, sizeof *profile->free_in);
    profile->bounds = calloc((size_t)cluster->bank_count + 1, sizeof *profile->bounds);
    profile->planned = calloc((size_t)cluster->node_count + 1, sizeof *profile->planned);
    profile->behind = calloc((size_t)cluster->node_count + 1, sizeof *profile->behind);
    profile->is_behind = calloc((size_t)cluster->node_count + 1, sizeof *profile->is_behind);
    profile->earliest = calloc((size_t)ADL_JOB_GPUS_MAX + 1, sizeof *profile->earliest);
    profile->may_have = calloc((size_t)cluster->bank_count + 1, sizeof *profile->may_have);
    if (!profile->ends || !profile->may_have || !profile->nodes || !profile->due_us || !profile->steps ||
        !profile->gpus || !profile->ready || !profile->banks || !profile->index || !profile->known ||
        !profile->free_in || !profile->bounds || !profile->planned || !profile->behind || !profile->is_behind ||
        !profile->earliest) {
        adl_free_profile_destroy(profile);
        return ADL_ENOMEM;
    }
    list_types(profile);
    list_nodes(profile);
    *ret = profile;
    return 0;
}

/* A node's steps lie in the profile's arrays: at the same place in both. */
static void copy_node(struct adl_node_profile *to, const struct adl_node_profile *from)
{
    const struct adl_node_profile own = *to;
    *to = *from;
    to->base = own.base;
    to->planned = own.planned;
    to->base_gpus = own.base_gpus;
    to->planned_gpus = own.planned_gpus;
    to->steps = from->steps == from->planned ? own.planned : from->steps ? own.base : NULL;
    to->gpus = from->gpus == from->planned_gpus ? own.planned_gpus : from->gpus ? own.base_gpus : NULL;
}

void adl_free_profile_copy(struct adl_free_profile *to, const struct adl_free_profile *from)
{
    const struct adl_cluster *cluster = from->cluster;
    const size_t banks = cluster->bank_count;
    for (uint32_t n = 0; n < cluster->node_count; n++)
        copy_node(&to->nodes[n], &from->nodes[n]);
    memcpy(to->due_us, from->due_us, cluster->node_count * sizeof *to->due_us);
    memcpy(to->steps, from->steps, from->step_count * sizeof *to->steps);
    memcpy(to->gpus, from->gpus, from->gpu_count * sizeof *to->gpus);
    memcpy(to->ready, from->ready, 2 * from->ready_count * sizeof *to->ready);
    memcpy(to->ends, from->ends, cluster->gpu_count * sizeof *to->ends);
    memcpy(to->known, from->known, banks * sizeof *to->known);
    memcpy(to->free_in, from->free_in, banks * sizeof *to->free_in);
    memcpy(to->bounds, from->bounds, banks * sizeof *to->bounds);
    memcpy(to->planned, from->planned, from->planned_count * sizeof *to->planned);
    to->planned_count = from->planned_count;
    memcpy(to->behind, from->behind, from->behind_count * sizeof *to->behind);
    memcpy(to->is_behind, from->is_behind, cluster->node_count * sizeof *to->is_behind);
    to->behind_count = from->behind_count;
    memcpy(to->free_now, from->free_now, sizeof to->free_now);
}

void adl_free_profile_reset(struct adl_free_profile *profile)
{
    profile->planned_count = profile->behind_count = 0;
    profile->reserved_types = 0;
    list_nodes(profile);
    memset(profile->is_behind, 0, profile->cluster->node_count * sizeof *profile->is_behind);
    memset(profile->ends, 0, profile->cluster->gpu_count * sizeof *profile->ends);
}

void adl_free_profile_fetch(const struct adl_free_profile *profile)
{
    adl_fetch(profile->nodes, profile->cluster->node_count * sizeof *profile->nodes);
    adl_fetch(profile->ready, profile->ready_count * sizeof *profile->ready);
    adl_fetch(profile->ends, profile->cluster->gpu_count * sizeof *profile->ends);
}
