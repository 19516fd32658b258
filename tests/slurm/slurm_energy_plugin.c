/* slurm_energy_plugin: acct_gather_energy/gpu_file: a node's meter is the file FOLDER/energy/NODE, "JOULES WATTS",
 * where FOLDER is $ADL_SLURM_CLUSTER. tests/slurm/slurm_cluster builds it against Slurm's public headers alone; a node
 * without a file has no meter. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char plugin_name[] = "meters that are files";
const char plugin_type[] = "acct_gather_energy/gpu_file";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static char path[512]; /* "": another daemon than a slurmd, which measures nothing */

/* Many slurmds share a host: the node is what follows -N on the command line. */
static void find_path(void)
{
    char words[1024];
    const char *folder = getenv("ADL_SLURM_CLUSTER"), *node = NULL;
    FILE *file = fopen("/proc/self/cmdline", "r");
    const size_t size = file ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file)
        fclose(file);
    words[size] = '\0';
    for (size_t at = 0; at < size && !node; at += strlen(words + at) + 1)
        if (strcmp(words + at, "-N") == 0 && at + 3 < size)
            node = words + at + 3;
    if (folder && node)
        snprintf(path, sizeof path, "%s/energy/%s", folder, node);
}

extern int init(void)
{
    find_path();
    return SLURM_SUCCESS;
}

extern int fini(void)
{
    return SLURM_SUCCESS;
}

static void read_meter(acct_gather_energy_t *energy)
{
    double joules = 0, watts = 0;
    FILE *file = path[0] ? fopen(path, "r") : NULL;
    const int read = file ? fscanf(file, "%lf %lf", &joules, &watts) : 0;
    if (file)
        fclose(file);
    memset(energy, 0, sizeof *energy);
    if (read != 2) {
        energy->consumed_energy = NO_VAL64;
        energy->current_watts = NO_VAL;
        return;
    }
    energy->consumed_energy = (uint64_t)joules;
    energy->current_watts = (uint32_t)watts;
    energy->ave_watts = energy->current_watts;
    energy->poll_time = time(NULL);
}

extern int acct_gather_energy_p_update_node_energy(void)
{
    return SLURM_SUCCESS;
}

extern int acct_gather_energy_p_get_data(enum acct_energy_type what, void *data)
{
    switch (what) {
    case ENERGY_DATA_JOULES_TASK:
    case ENERGY_DATA_STRUCT:
    case ENERGY_DATA_NODE_ENERGY:
    case ENERGY_DATA_NODE_ENERGY_UP:
        read_meter(data);
        return SLURM_SUCCESS;
    case ENERGY_DATA_LAST_POLL:
        *(time_t *)data = time(NULL);
        return SLURM_SUCCESS;
    case ENERGY_DATA_SENSOR_CNT:
        *(uint16_t *)data = path[0] ? 1 : 0;
        return SLURM_SUCCESS;
    default:
        return SLURM_ERROR;
    }
}

extern int acct_gather_energy_p_set_data(enum acct_energy_type what, void *data)
{
    (void)what, (void)data;
    return SLURM_SUCCESS;
}

/* It has no settings in acct_gather.conf. */
extern void acct_gather_energy_p_conf_options(void **options, int *count)
{
    (void)options, (void)count;
}

extern void acct_gather_energy_p_conf_set(int context, void *table)
{
    (void)context, (void)table;
}

extern void acct_gather_energy_p_conf_values(void *list)
{
    (void)list;
}
