/* log: a job's output, read from its file as the calling user; can follow it until the job has ended. */
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/client/job_number.h"
#include "cli/client/jobs_table.h"
#include "cli/display.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct options {
    struct adl_client_options client;
    bool follow;
    bool errors;
};

static const struct adl_option table[] = {
    ADL_ROW_FLAG(struct options, follow, "follow", 'f',
                 "follow until the job has ended, waiting for its start if necessary"),
    ADL_ROW_FLAG(struct options, errors, "stderr", 0, "print its standard error instead"),
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "log",
    .summary = "Prints what a job has written so far.",
    .operands = "JOB",
    .operands_min = 1,
    .operands_max = 1,
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro log 12\nadlro log -f 12_3",
};

#define POLL_MS   100
#define ASK_EVERY 5 /* polls of the file for each request about the job */

struct tail {
    const char *path;
    int fd; /* -1 = not open yet */
    off_t read;
};

/* All that is in the file and was not copied yet. */
static int copy_rest(struct tail *tail, struct adl_error *err)
{
    char buffer[65536], shown[400];
    struct adl_text name = {0};
    struct stat info;
    int reason = 0;
    if (tail->fd >= 0 && fstat(tail->fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < tail->read)
        tail->read = lseek(tail->fd, 0, SEEK_SET); /* truncated, as by a second attempt */
    ssize_t got = 1;
    while (tail->fd >= 0 && got > 0) {
        got = read(tail->fd, buffer, sizeof buffer);
        if (got > 0) {
            tail->read += got;
            if (fwrite(buffer, 1, (size_t)got, stdout) != (size_t)got)
                return adl_fail(err, ADL_EIO, "cannot write the output: %s", strerror(errno));
        } else if (got < 0 && errno != EAGAIN && errno != EINTR) {
            reason = errno;
        }
    }
    if (fflush(stdout) != 0)
        return adl_fail(err, ADL_EIO, "cannot write the output: %s", strerror(errno));
    if (reason == 0)
        return 0;
    adl_display_put(&name, tail->path, 200);
    snprintf(shown, sizeof shown, "%s", name.data ? name.data : "");
    adl_text_clear(&name);
    return adl_fail(err, ADL_EIO, "cannot read %s: %s", shown, strerror(reason));
}

/* 0 also if the file is not there yet. */
static int open_tail(struct tail *tail, struct adl_error *err)
{
    struct adl_text name = {0};
    if (tail->fd >= 0)
        return 0;
    tail->fd = open(tail->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (tail->fd >= 0 || errno == ENOENT)
        return 0;
    const int reason = errno;
    adl_display_put(&name, tail->path, 200);
    const int status = adl_fail(err, ADL_EIO, "cannot read %s: %s", name.data ? name.data : "", strerror(reason));
    adl_text_clear(&name);
    return status;
}

static int fail_absent(const cJSON *job, const char *path, struct adl_error *err)
{
    char label[ADL_JOB_LABEL_SIZE];
    struct adl_text name = {0}, reason = {0};
    int status;
    adl_display_put(&name, path, 150);
    adl_display_put(&reason, adl_member_text(job, "reason"), 150);
    if (strcmp(adl_member_text(job, "state"), "PD") == 0)
        status = adl_fail(err, ADL_EREFUSED, "job %s has not started: %s", adl_job_label(job, label),
                          reason.data ? reason.data : "it waits");
    else
        status = adl_fail(err, ADL_EABSENT, "job %s has no output at %s", adl_job_label(job, label),
                          name.data ? name.data : "");
    adl_text_clear(&name);
    adl_text_clear(&reason);
    return status;
}

static bool is_pending(const cJSON *job)
{
    return strcmp(adl_member_text(job, "state"), "PD") == 0;
}

/* Copies what is there; nothing while the job is pending, because a file of that name is then another job's. */
static int copy_log(const cJSON *job, struct tail *tail, struct adl_error *err)
{
    const int status = is_pending(job) ? 0 : open_tail(tail, err);
    return status ? status : copy_rest(tail, err);
}

/* Copies until the job has ended and its file has been read to the end after that. *job is replaced by newer ones. */
static int follow(struct adl_client *client, uint64_t id, cJSON **job, struct tail *tail, struct adl_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)id);
    for (int poll = 1; !adl_job_has_ended(*job); poll++) {
        const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
        nanosleep(&pause, NULL);
        if (poll % ASK_EVERY == 0) {
            cJSON *newer = NULL;
            const int status = adl_client_get_patiently(client, path, &newer, err);
            if (status)
                return status;
            cJSON_Delete(*job);
            *job = newer;
        }
        const int status = copy_log(*job, tail, err);
        if (status)
            return status;
    }
    return 0;
}

static int print_log(struct adl_client *client, const struct options *o, const char *name, struct adl_error *err)
{
    cJSON *job = NULL;
    uint64_t id;
    int status = adl_job_number_find(client, name, &id, &job, err);
    if (status)
        return status;
    struct adl_text path = {0};
    adl_text_put(&path, adl_member_text(job, o->errors ? "stderr" : "stdout"));
    struct tail tail = {.path = path.data ? path.data : "", .fd = -1};
    if (tail.path[0] == '\0')
        status = adl_fail(err, ADL_EABSENT, "the service does not say where job %s writes", name);
    if (status == 0)
        status = copy_log(job, &tail, err);
    if (status == 0 && o->follow)
        status = follow(client, id, &job, &tail, err);
    if (status == 0 && tail.fd < 0)
        status = fail_absent(job, tail.path, err);
    if (tail.fd >= 0)
        close(tail.fd);
    adl_text_clear(&path);
    cJSON_Delete(job);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.follow = false};
    struct adl_operands operands;
    struct adl_client *client = NULL;
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = adl_client_create(&o.client, &client, &err);
    if (status == 0)
        status = print_log(client, &o, operands.items[0], &err);
    adl_client_destroy(client);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_log = {&verb, run};
