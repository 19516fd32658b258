/* preemptive_list_copy: a preemptive list becomes equal to another. */
#include "base/copy.h"
#include "policy/mechanism/preemptive_list.h"

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
