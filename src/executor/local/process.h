/* process: identifies a process of this machine by PID and start time, because PIDs are reused. */
#ifndef ADLRO_EXECUTOR_LOCAL_PROCESS_H
#define ADLRO_EXECUTOR_LOCAL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: none. The pair is unique until the machine is restarted. */
struct adl_process {
    int64_t pid;
    int64_t start_ticks; /* since boot, field 22 of /proc/PID/stat */
};

struct adl_process_stat {
    char state; /* R S D Z ... */
    int64_t parent;
    int64_t group;
    int64_t session;
    int64_t start_ticks;
};

#define ADL_BOOT_ID_SIZE 40

/* 0; -1 if there is no such process or it cannot be inspected. */
int adl_process_stat_read(int64_t pid, struct adl_process_stat *ret_stat);
/* From the text of /proc/PID/stat; the name in it may hold anything. */
int adl_process_stat_parse(const char *text, struct adl_process_stat *ret_stat);

int adl_process_find(int64_t pid, struct adl_process *ret_process); /* 0; -1 if there is none */
bool adl_process_alive(struct adl_process process);                 /* a zombie is not */
/* A pidfd, readable once the process has ended; -1 if there is none or the kernel has no pidfd. Closed on exec. */
int adl_process_open(struct adl_process process);
/* 0; -1 if it is gone or may not be signalled. Never signals another process with the same PID. */
int adl_process_signal(struct adl_process process, int signal);

/* Calls visit with the PID of every process until visit returns false. -1 if /proc cannot be read. */
int adl_process_each(bool (*visit)(void *arg, int64_t pid), void *arg);

/* Kills the caller's children. If the caller is a subreaper, their children become its own, so that calling this until
 * none is left kills all descendants. */
void adl_process_kill_children(void);
/* Signals all descendants of the caller once, except those in one process group and one process (0 = none). May miss
 * processes forked meanwhile. */
void adl_process_signal_descendants(int64_t except_group, int64_t except_pid, int signal);

int adl_boot_id_read(char ret_id[ADL_BOOT_ID_SIZE]); /* 0, or -1 */

int64_t adl_clock_boot_us(void); /* CLOCK_BOOTTIME: runs while the machine sleeps, and is never set */
int64_t adl_clock_wall_us(void); /* since 1970 */

/* Closes all descriptors from first on, including those that a library opened without close-on-exec. */
void adl_close_from(int first);

#endif
