/* preemptive_list_create: the beginning and the end of a preemptive list, and how one becomes equal to another. */
#include "base/copy.h"
#include "policy/mechanism/preemptive_list.h"

#include <stdlib.h>

int adl_preemptive_list_create(struct adl_preemptive_list *ret, const struct adl_cluster *cluster)
{
    struct adl_preemptive_list list = {.cluster = cluster, .last_start = ADL_NONE, .preemptor = ADL_NONE};
    list.capacities = calloc((size_t)cluster->bank_count + 1, sizeof *list.capacities);
    if (!list.capacities || adl_queue_create(&list.queue)) {
        adl_preemptive_list_clear(&list);
        return ADL_ENOMEM;
    }
    for (uint32_t t = 0; t < ADL_TYPES_MAX; t++)
        adl_order_init(&list.holding[t]);
    *ret = list;
    return 0;
}

void adl_preemptive_list_clear(struct adl_preemptive_list *list)
{
    adl_queue_clear(&list->queue);
    free(list->nodes);
    free(list->jobs);
    free(list->capacities);
    *list = (struct adl_preemptive_list){0};
}

int adl_preemptive_list_copy(struct adl_preemptive_list *to, const struct adl_preemptive_list *from,
                             const void *reason_context)
{
    const size_t jobs = from->job_capacity, nodes = from->node_capacity;
    if (adl_grow((void **)&to->jobs, &to->job_capacity, jobs, sizeof *to->jobs) ||
        adl_grow((void **)&to->nodes, &to->node_capacity, nodes, sizeof *to->nodes) ||
        adl_queue_copy(&to->queue, &from->queue, to->nodes))
        return ADL_ENOMEM;
    const struct adl_preemptive_list own = *to;
    *to = *from;
    to->cluster = own.cluster;
    to->queue = own.queue;
    to->reason_context = reason_context;
    to->capacities = own.capacities; /* of one decision, as is epoch */
    to->epoch = own.epoch;
    to->job_capacity = own.job_capacity;
    to->node_capacity = own.node_capacity;
    ADL_COPY_ARRAY(to, own, from, jobs, jobs);
    ADL_COPY_ARRAY(to, own, from, nodes, nodes);
    for (size_t i = jobs; i < to->job_capacity; i++)
        to->jobs[i].phase = ADL_PREEMPTIVE_ABSENT;
    return 0;
}
