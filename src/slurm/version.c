#include "slurm/version.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#define SINCE(year, month) (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(year, month, 0))

/* Exported by the library, not declared by its headers. */
extern void slurm_xfree(void **item);
#if SINCE(24, 5)
extern const char *slurm_job_state_reason_string(enum job_state_reason reason);
#else
extern char *slurm_job_reason_string(enum job_state_reason reason);
#endif

bool adl_slurm_retypes(void)
{
    return SINCE(24, 11);
}

bool adl_slurm_overcounts_nodes(void)
{
    return !SINCE(23, 2);
}

void adl_slurm_gres_write(struct adl_text *text, const char *type, uint32_t count)
{
    adl_text_put(text, SINCE(23, 11) ? "gres/gpu:" : "gres:gpu:");
    if (type[0])
        adl_text_printf(text, "%s:", type);
    adl_text_printf(text, "%u", count);
}

const char *adl_slurm_reason(uint32_t reason)
{
#if SINCE(24, 5)
    return slurm_job_state_reason_string(reason);
#else
    return slurm_job_reason_string(reason);
#endif
}

int adl_slurm_error_of(int status)
{
    return status > 0 ? status : errno;
}

/* Later headers do not name it any more, and have not reused the number. */
#define ZERO_RECV_LENGTH 5000

bool adl_slurm_is_unreachable(int code)
{
    switch (code) {
    case SLURM_COMMUNICATIONS_CONNECTION_ERROR:
    case SLURM_COMMUNICATIONS_SEND_ERROR:
    case SLURM_COMMUNICATIONS_RECEIVE_ERROR:
    case SLURM_COMMUNICATIONS_SHUTDOWN_ERROR:
    case SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR:
    case SLURMCTLD_COMMUNICATIONS_SEND_ERROR:
    case SLURMCTLD_COMMUNICATIONS_RECEIVE_ERROR:
    case SLURMCTLD_COMMUNICATIONS_SHUTDOWN_ERROR:
    case SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT:
    case ZERO_RECV_LENGTH:
    case ESLURM_IN_STANDBY_MODE:
        return true;
    default:
        return false;
    }
}

void adl_slurm_ctl_conf_free(void *conf)
{
#if SINCE(26, 5)
    slurm_free_conf(conf);
#else
    slurm_free_ctl_conf(conf);
#endif
}

void adl_slurm_jobs_free(struct job_info_msg *jobs)
{
    if (!jobs)
        return;
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        void *text = jobs->job_array[i].admin_comment;
        jobs->job_array[i].admin_comment = NULL;
        slurm_xfree(&text);
    }
    slurm_free_job_info_msg(jobs);
}

#if SINCE(25, 5)
uint32_t adl_slurm_node_cpus_used(const struct node_info *node)
{
    return node->alloc_cpus;
}

uint64_t adl_slurm_node_memory_used_mib(const struct node_info *node)
{
    return node->alloc_memory;
}
#else
uint32_t adl_slurm_node_cpus_used(const struct node_info *node)
{
    uint16_t cpus = 0;
    const int status =
        slurm_get_select_nodeinfo(node->select_nodeinfo, SELECT_NODEDATA_SUBCNT, NODE_STATE_ALLOCATED, &cpus);
    return status == SLURM_SUCCESS ? cpus : 0;
}

uint64_t adl_slurm_node_memory_used_mib(const struct node_info *node)
{
    uint64_t memory_mib = 0;
    const int status =
        slurm_get_select_nodeinfo(node->select_nodeinfo, SELECT_NODEDATA_MEM_ALLOC, NODE_STATE_ALLOCATED, &memory_mib);
    return status == SLURM_SUCCESS ? memory_mib : 0;
}
#endif

bool adl_slurm_node_draw(const struct node_info *node, struct adl_slurm_draw *ret)
{
    const acct_gather_energy_t *energy = node->energy;
    if (!energy || energy->poll_time <= 0 || energy->consumed_energy == NO_VAL64 || energy->current_watts == NO_VAL)
        return false;
    /* Plugins report 0 W until they have measured long enough. */
    *ret = (struct adl_slurm_draw){.joules = (double)energy->consumed_energy,
                                   .watts = energy->current_watts > 0 ? energy->current_watts : -1.0,
                                   .read_s = (int64_t)energy->poll_time};
    return true;
}
