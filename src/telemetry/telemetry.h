/* telemetry: readings of GPUs from all available sources, as one list of devices and one sample of each.
 *
 * Sources are the drivers' own libraries and files on this machine (NVIDIA: NVML; AMD: sysfs and ROCm SMI) and the
 * pages of exporters (NVIDIA's dcgm-exporter, AMD's device-metrics-exporter) on any machine. A GPU that several sources
 * report is one device, and each reading comes from the first source, in the order above, that has it. A reading that
 * no source has is missing. docs/telemetry.md lists the source of each reading.
 *
 * A reader belongs to one thread. Sampling may wait for exporters, for options.timeout_us at most. */
#ifndef ADLRO_TELEMETRY_TELEMETRY_H
#define ADLRO_TELEMETRY_TELEMETRY_H

#include "base/error.h"
#include "model/cluster.h"
#include "model/event.h"
#include "telemetry/gpu_name.h"
#include "telemetry/reading.h"

#define ADL_TELEMETRY_DEVICES_MAX     4096
#define ADL_TELEMETRY_URLS_MAX        64
#define ADL_TELEMETRY_INTERVAL_MIN_US INT64_C(100000)
#define ADL_GPU_PIDS_MAX              64

struct adl_gpu_device {
    char type[ADL_NAME_SIZE]; /* short, as in catalogues: "a100" */
    char model[96];           /* as the driver reports it: "NVIDIA A100-SXM4-80GB" */
    char vendor[16];          /* nvidia, amd */
    char uuid[80];            /* "GPU-..."; empty = not known */
    char pci[ADL_PCI_SIZE];   /* "0000:3b:00.0"; empty = not known */
    char node[ADL_NAME_SIZE]; /* empty = this machine */
    uint32_t index;           /* among its vendor's GPUs in its node, as the driver numbers them */
    int64_t memory_mib;       /* 0 = not known */
    double limit_w;           /* power limit now; 0 = not known */
};

struct adl_gpu_sample {
    int64_t time_us;
    struct adl_telemetry telemetry;
    double energy_j;                /* used since the reader first saw it, by its own counter; negative = it has none */
    int64_t memory_used_mib;        /* negative = not known */
    bool lost;                      /* its driver reports it lost: fallen off the bus, or to be reset */
    char version[ADL_VERSION_SIZE]; /* of its driver; empty = not known */
    bool pids_known;                /* whether the processes on it can be seen at all */
    uint32_t pid_count;             /* processes on it; the first ADL_GPU_PIDS_MAX of them: */
    int32_t pids[ADL_GPU_PIDS_MAX];
};

/* State of one source. */
struct adl_telemetry_status {
    char name[160];                   /* "nvml", "amd", or the exporter's address */
    bool up;                          /* it answered the last time */
    char text[200];                   /* why not; empty if it is up */
    uint32_t device_count;            /* devices it has reported */
    uint64_t sample_count;            /* how often it was read */
    struct adl_reading_faults faults; /* values that became missing, since open */
};

/* Zeroed: all sources of this machine, no exporter, one sample a second. */
struct adl_telemetry_options {
    bool no_nvml;
    bool no_amd;
    const char *nvml_path;   /* NULL = libnvidia-ml.so.1 of the system */
    const char *rocm_path;   /* NULL = librocm_smi64.so of the system; "" = none */
    const char *sysfs_root;  /* NULL = /sys */
    const char *const *urls; /* exporters' pages, http or https */
    uint32_t url_count;      /* at most ADL_TELEMETRY_URLS_MAX */
    int64_t interval_us;     /* between samples, at least ADL_TELEMETRY_INTERVAL_MIN_US; 0 = 1 s */
    int64_t timeout_us;      /* for all exporters together, 1 ms to 60 s; 0 = 2 s */
};

struct adl_telemetry_reader;

/* A missing source (no driver, an exporter that does not answer) is not an error: its status says so, and it is
 * retried. Finds the devices; those of exporters are found by the first samples. options need not outlive the call. */
int adl_telemetry_open(const struct adl_telemetry_options *options, struct adl_telemetry_reader **ret,
                       struct adl_error *err);
void adl_telemetry_close(struct adl_telemetry_reader *reader); /* accepts NULL */

/* Devices keep their index; new ones (of an exporter that came up later) are appended. Valid until the next sample. */
const struct adl_gpu_device *adl_telemetry_devices(const struct adl_telemetry_reader *reader, uint32_t *ret_count);
/* [device], as of the last sample; before the first one everything is missing. */
const struct adl_gpu_sample *adl_telemetry_samples(const struct adl_telemetry_reader *reader);
const struct adl_telemetry_status *adl_telemetry_status(const struct adl_telemetry_reader *reader, uint32_t *ret_count);

/* Reads all sources. now_us is of a monotonic clock. 1: there are new samples; 0: it is too early, the old ones stay;
 * negative: out of memory, the old ones stay. If a source fails, only its readings are missing. */
int adl_telemetry_sample(struct adl_telemetry_reader *reader, int64_t now_us, struct adl_error *err);

#endif
