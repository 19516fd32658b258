/* job_submit_adlro: wakes slurmctld's scheduler when adlro has placed a job; otherwise it runs about once a second.
 *
 * A plugin beside the Lua hook, which catches the jobs: JobSubmitPlugins=lua,adlro. Built against Slurm's public
 * headers alone: cc -O2 -shared -fPIC -o job_submit_adlro.so job_submit_adlro.c and installed into a folder of
 * PluginDir. */
#include <dlfcn.h>
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

/* Between two wake-ups. While slurmctld schedules it accepts no placements, so the pause grows in a stream of them. */
#define PAUSE_NS     20000000L
#define PAUSE_MAX_NS 320000000L

const char plugin_name[] = "wake-up of the scheduler for adlro";
const char plugin_type[] = "job_submit/adlro";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* slurmctld's own schedule(): wakes its scheduling thread and returns at once. It is not part of an interface, so the
 * plugin looks it up and does nothing without it. Up to 23.11 it returns a number, which is ignored. */
static void (*schedule)(bool full_queue);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t waker;
static bool running, due;

/* The last placement of a burst is never missed: those during the pause are handled after it. */
static void *wake(void *unused)
{
    (void)unused;
    long pause_ns = PAUSE_NS;
    pthread_mutex_lock(&mutex);
    while (running) {
        if (!due) {
            pause_ns = PAUSE_NS;
            pthread_cond_wait(&changed, &mutex);
            continue;
        }
        due = false;
        pthread_mutex_unlock(&mutex);
        schedule(false);
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        pause_ns = pause_ns < PAUSE_MAX_NS ? 2 * pause_ns : pause_ns;
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void find_schedule(void)
{
    void *slurmctld = dlopen(NULL, RTLD_LAZY);
    void *symbol = slurmctld ? dlsym(slurmctld, "schedule") : NULL;
    memcpy(&schedule, &symbol, sizeof symbol); /* ISO C has no cast to a function pointer */
}

extern int init(void)
{
    find_schedule();
    if (!schedule) {
        slurm_error("job_submit/adlro: this slurmctld has no schedule(): placed jobs start at the next run of its own "
                    "scheduler");
        return SLURM_SUCCESS;
    }
    running = true;
    if (pthread_create(&waker, NULL, wake, NULL) != 0)
        running = false; /* then nothing is woken */
    return SLURM_SUCCESS;
}

extern void fini(void)
{
    pthread_mutex_lock(&mutex);
    const bool was_running = running;
    running = false;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    if (was_running)
        pthread_join(waker, NULL);
}

extern int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **err_msg)
{
    (void)job;
    (void)submit_uid;
    (void)err_msg;
    return SLURM_SUCCESS;
}

/* slurmctld holds its locks here, so the scheduler sees the change when it gets them. A placement is a release with a
 * list of nodes. */
static int wake_for(const job_desc_msg_t *change)
{
    if (change->priority == INFINITE && change->req_nodes && change->req_nodes[0]) {
        pthread_mutex_lock(&mutex);
        due = true;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return SLURM_SUCCESS;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
extern int job_modify(job_desc_msg_t *change, void *job, uint32_t submit_uid, char **err_msg)
{
    (void)job;
    (void)submit_uid;
    (void)err_msg;
    return wake_for(change);
}
#else
extern int job_modify(job_desc_msg_t *change, void *job, uint32_t submit_uid)
{
    (void)job;
    (void)submit_uid;
    return wake_for(change);
}
#endif
