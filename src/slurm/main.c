/* main: the adapter between the service and Slurm: orders on standard input, messages on standard output. */
#include "base/options.h"
#include "base/text.h"
#include "slurm/cluster.h"
#include "slurm/controller.h"
#include "slurm/place.h"
#include "slurm/protocol.h"
#include "slurm/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RETRY_US    INT64_C(1000000) /* between two attempts to reach slurmctld */
#define OUT_PENDING (16u << 20)      /* bytes that the service has not read; beyond that it counts as dead */

struct adapter {
    struct adl_slurm_cluster cluster;
    struct adl_slurm_controller controller;
    struct adl_slurm_settings settings;
    enum adl_slurm_mode mode;
    int64_t poll_us;
    int64_t due_us; /* monotonic */
    bool said_hello, up, reported_down, over;
    uint64_t synced;
    struct adl_text in, out;
    size_t written; /* of out */
};

static int64_t clock_us(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* ---- slurmctld ----------------------------------------------------------------------------------------------------
 */

static void go_down(struct adapter *adapter, const char *why)
{
    if (!adapter->reported_down)
        adl_slurm_write_down(&adapter->out, why);
    adapter->up = false;
    adapter->reported_down = true;
    adapter->due_us = clock_us(CLOCK_MONOTONIC) + RETRY_US;
}

/* Sends all there is again: what happened while slurmctld was down is not known. */
static void come_up(struct adapter *adapter)
{
    struct adl_error err = {.text = ""};
    if (!adl_slurm_controller_ping(&adapter->controller)) {
        go_down(adapter, "nothing listens at the address of slurmctld");
        return;
    }
    int status = adl_slurm_controller_load(&adapter->controller, &err);
    if (status == 0) {
        adl_slurm_cluster_restart(&adapter->cluster);
        adapter->cluster.meter = adapter->controller.meter;
        adapter->cluster.metered = adapter->controller.meter && adapter->controller.meter_s > 0;
        const size_t start = adapter->out.size;
        adl_slurm_write_up(&adapter->out, adapter->controller.version, adapter->controller.cluster);
        status = adl_slurm_cluster_poll(&adapter->cluster, clock_us(CLOCK_REALTIME), &adapter->out, &err);
        if (status != 0)
            adl_text_truncate(&adapter->out, start);
    }
    if (status != 0) {
        go_down(adapter, err.text);
        return;
    }
    adl_slurm_write_synced(&adapter->out, ++adapter->synced);
    adapter->up = true;
    adapter->reported_down = false;
    adapter->due_us = clock_us(CLOCK_MONOTONIC) + adapter->poll_us;
}

static void poll_cluster(struct adapter *adapter)
{
    struct adl_error err = {.text = ""};
    if (!adapter->up) {
        come_up(adapter);
        return;
    }
    const int64_t start_us = clock_us(CLOCK_MONOTONIC);
    if (adl_slurm_cluster_poll(&adapter->cluster, clock_us(CLOCK_REALTIME), &adapter->out, &err) != 0) {
        go_down(adapter, err.text);
        return;
    }
    /* With many jobs a poll takes long; orders and slurmctld get at least three quarters of the time. */
    const int64_t end_us = clock_us(CLOCK_MONOTONIC), rest_us = 3 * (end_us - start_us);
    adapter->due_us = end_us + (adapter->poll_us > rest_us ? adapter->poll_us : rest_us);
}

/* ---- orders -------------------------------------------------------------------------------------------------------
 */

static void take_hello(struct adapter *adapter, const struct adl_slurm_order *order)
{
    struct adl_slurm_cluster *cluster = &adapter->cluster;
    const uint32_t count = order->partition_count ? order->partition_count : adapter->settings.partition_count;
    const void *names = order->partition_count ? (const void *)order->partitions : adapter->settings.partitions;
    memcpy(cluster->partitions, names, sizeof cluster->partitions);
    cluster->partition_count = count;
    adapter->mode = order->mode;
    adapter->poll_us = (int64_t)order->poll_ms * 1000;
    adapter->said_hello = true;
    adapter->up = false;
    adapter->due_us = 0;
}

static int carry_out(struct adapter *adapter, const struct adl_slurm_order *order, struct adl_error *err)
{
    if (!adapter->said_hello)
        return adl_fail(err, ADL_EREFUSED, "the first order has to be hello");
    if (adapter->mode == ADL_SLURM_OBSERVE)
        return adl_fail(err, ADL_EREFUSED, "mode observe changes nothing");
    if (adapter->mode == ADL_SLURM_ADVISE && order->op != ADL_SLURM_COMMENT)
        return adl_fail(err, ADL_EREFUSED, "mode advise writes comments only");
    if (!adapter->up)
        return adl_fail(err, ADL_EIO, "slurmctld does not answer");
    adapter->cluster.now_us = clock_us(CLOCK_REALTIME);
    const int status = adl_slurm_carry_out(&adapter->cluster, order, err);
    if (status == ADL_EIO)
        go_down(adapter, err->text);
    return status;
}

static void run_order(struct adapter *adapter, const char *line)
{
    static struct adl_slurm_order order; /* too large for a stack */
    struct adl_error err = {.text = ""};
    int status = adl_slurm_order_read(line, &order, &err);
    if (status != 0) {
        adl_slurm_write_done(&adapter->out, order.seq >= 0 ? order.seq : 0, status, &err);
        return;
    }
    switch (order.op) {
    case ADL_SLURM_HELLO:
        take_hello(adapter, &order);
        break;
    case ADL_SLURM_BYE:
        adapter->over = true;
        break;
    case ADL_SLURM_HEARTBEAT:
        /* In other modes no job waits for adlro. */
        if (adapter->mode == ADL_SLURM_ACT)
            status = adl_slurm_heartbeat_write(adapter->settings.heartbeat, clock_us(CLOCK_REALTIME) / 1000000, &err);
        break;
    default:
        status = carry_out(adapter, &order, &err);
        break;
    }
    adl_slurm_write_done(&adapter->out, order.seq, status, &err);
}

/* ---- the loop -----------------------------------------------------------------------------------------------------
 */

static int flush_out(struct adapter *adapter)
{
    while (adapter->written < adapter->out.size) {
        const ssize_t size =
            write(STDOUT_FILENO, adapter->out.data + adapter->written, adapter->out.size - adapter->written);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return errno == EAGAIN && adapter->out.size - adapter->written < OUT_PENDING ? 0 : ADL_EIO;
        adapter->written += (size_t)size;
    }
    adl_text_truncate(&adapter->out, 0);
    adapter->written = 0;
    return adl_text_status(&adapter->out);
}

/* 0 at the end of the input, else 1. */
static int read_in(struct adapter *adapter)
{
    char bytes[65536];
    const ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR;
    adl_text_bytes(&adapter->in, bytes, (size_t)size);
    return size > 0;
}

static void run_orders(struct adapter *adapter)
{
    size_t start = 0;
    while (start < adapter->in.size && !adapter->over) {
        char *end = memchr(adapter->in.data + start, '\n', adapter->in.size - start);
        if (!end)
            break;
        *end = '\0';
        run_order(adapter, adapter->in.data + start);
        start = (size_t)(end - adapter->in.data) + 1;
        /* Answers go out at once, and changes of jobs and nodes even if orders never cease. */
        if (flush_out(adapter) != 0)
            adapter->over = true;
        if (adapter->said_hello && clock_us(CLOCK_MONOTONIC) >= adapter->due_us)
            poll_cluster(adapter);
    }
    if (start > 0) {
        memmove(adapter->in.data, adapter->in.data + start, adapter->in.size - start);
        adl_text_truncate(&adapter->in, adapter->in.size - start);
    }
    if (adapter->in.size > ADL_SLURM_LINE_MAX)
        adapter->over = true; /* the protocol has no such lines */
}

static int serve(struct adapter *adapter)
{
    fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    signal(SIGPIPE, SIG_IGN); // NOLINT: one thread
    while (!adapter->over) {
        const int64_t now_us = clock_us(CLOCK_MONOTONIC);
        if (adapter->said_hello && now_us >= adapter->due_us)
            poll_cluster(adapter);
        if (flush_out(adapter) != 0 || adl_text_status(&adapter->in) != 0)
            return EXIT_FAILURE;
        const int64_t wait_us = adapter->due_us - clock_us(CLOCK_MONOTONIC);
        const int wait_ms = !adapter->said_hello ? -1 : wait_us > 0 ? (int)(wait_us / 1000) + 1 : 0;
        struct pollfd fds[2] = {
            {.fd = STDIN_FILENO, .events = POLLIN},
            {.fd = adapter->written < adapter->out.size ? STDOUT_FILENO : -1, .events = POLLOUT},
        };
        if (poll(fds, 2, wait_ms) < 0 && errno != EINTR)
            return EXIT_FAILURE;
        if ((fds[0].revents & (POLLIN | POLLHUP)) && !read_in(adapter))
            adapter->over = true;
        run_orders(adapter);
    }
    return flush_out(adapter) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the watchdog -------------------------------------------------------------------------------------------------
 */

static int give_back_if_stale(struct adapter *adapter, int64_t stale_s)
{
    const int64_t now_us = clock_us(CLOCK_REALTIME);
    const int64_t age_s = adl_slurm_heartbeat_age_s(adapter->settings.heartbeat, now_us / 1000000);
    if (age_s < stale_s)
        return EXIT_SUCCESS;
    struct adl_error err = {.text = ""};
    uint32_t count = 0;
    struct adl_slurm_cluster *cluster = &adapter->cluster;
    memcpy(cluster->partitions, adapter->settings.partitions, sizeof cluster->partitions);
    cluster->partition_count = adapter->settings.partition_count;
    int status = adl_slurm_cluster_poll(cluster, now_us, &adapter->out, &err);
    if (status == 0)
        status = adl_slurm_give_all_back(cluster, "adlro: away, so Slurm decides", &count, &err);
    if (count > 0)
        printf("adlro-slurm: %" PRIu32 " jobs given back to Slurm\n", count);
    if (status != 0)
        fprintf(stderr, "adlro-slurm: %s\n", err.text);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

struct choices {
    const char *settings;
    int64_t stale_s;
};

static void print_piece(void *context, const char *text)
{
    fputs(text, context);
}

static int run(struct adapter *adapter, const struct choices *choices)
{
    struct adl_error err = {.text = ""};
    char path[420];
    adl_slurm_settings_path(path, sizeof path);
    if (adl_slurm_settings_read(choices->settings ? choices->settings : path, &adapter->settings, &err) != 0) {
        fprintf(stderr, "adlro-slurm: %s\n", err.text);
        return EXIT_FAILURE;
    }
    setenv("SLURM_BITSTR_LEN", "0", 1); // NOLINT: before any thread; all indices of an array, not the first 64 bytes
    slurm_init(NULL);
    const int status = choices->stale_s > 0 ? give_back_if_stale(adapter, choices->stale_s) : serve(adapter);
    slurm_fini();
    return status;
}

int main(int argc, char **argv)
{
    static const struct adl_option rows[] = {
        ADL_ROW_TEXT(struct choices, settings, "settings", 0, "FILE",
                     "partitions and heartbeat, as the hook reads them; otherwise adlro.conf beside slurm.conf"),
        {"giveback-stale", 0, ADL_OPTION_INT, offsetof(struct choices, stale_s), 1, 1e9, NULL, "SECONDS",
         "if the last heartbeat of the service is older, give the jobs it holds back to Slurm, and end"},
    };
    static const struct adl_verb verb = {
        .name = "adlro-slurm",
        .summary =
            "The adapter between adlro's service and Slurm. The service starts it and exchanges messages with it on "
            "standard input and output (docs/formats/slurm-protocol.md).",
        .options = rows,
        .option_count = sizeof rows / sizeof *rows,
        .example = "adlro-slurm --giveback-stale 60",
    };
    struct choices choices = {0};
    struct adl_operands operands;
    struct adl_error err = {.text = ""};
    const int parsed = adl_options_parse(&verb, argc - 1, argv + 1, &choices, &operands, &err);
    if (parsed == ADL_OPTIONS_HELP) {
        adl_options_help(&verb, "", NULL, print_piece, stdout);
        return EXIT_SUCCESS;
    }
    if (parsed != 0) {
        fprintf(stderr, "adlro-slurm: %s\n", err.text);
        return 2;
    }
    static struct adapter adapter;
    const int status = run(&adapter, &choices);
    adl_slurm_cluster_clear(&adapter.cluster);
    adl_text_clear(&adapter.in);
    adl_text_clear(&adapter.out);
    return status;
}
