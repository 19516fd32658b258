/* test_telemetry_thread: telemetry read in a thread: samples arrive, are replaced if nobody takes them, and the thread
 * ends. */
#include "stub_nvml.h"
#include "telemetry_fixture.h"

#include "executor/local/telemetry_thread.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct {
    void *library;
    struct stub_nvml *script;
    struct adl_catalogue catalogue;
    struct adl_inventory inventory;
} fixture;

static int set_up(void **state)
{
    (void)state;
    struct adl_error err = {{0}};
    const struct stub_gpu gpu = {.name = "Tesla T4", .memory_total = 16384ull << 20, .busy = 50, .energy_mj = 1000};
    fixture.library = dlopen(STUB_DIR "/stub_nvml.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(fixture.library);
    fixture.script = dlsym(fixture.library, "stub_nvml_script");
    assert_non_null(fixture.script);
    *fixture.script = (struct stub_nvml){.count = 3, .gpus = {gpu, gpu, gpu}};
    fixture.script->gpus[0].uuid = "GPU-0";
    fixture.script->gpus[1].uuid = "GPU-1";
    fixture.script->gpus[2].uuid = "GPU-2";
    fixture.script->gpus[1].name = "Tesla V100-PCIE-16GB";
    fixture.script->gpus[1].busy = 75;
    assert_int_equal(adl_inventory_catalogue(NULL, &fixture.catalogue, &err), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    adl_inventory_clear(&fixture.inventory);
    adl_catalogue_clear(&fixture.catalogue);
    dlclose(fixture.library);
    return 0;
}

/* A telemetry thread for the first GPUs of the machine. */
static struct adl_telemetry_thread *open_telemetry(const char *const *urls, uint32_t url_count, uint32_t gpus)
{
    struct adl_telemetry_thread *thread = NULL;
    struct adl_error err = {{0}};
    uint32_t count;
    struct adl_telemetry_reader *reader =
        open_reader(&(struct adl_telemetry_options){.no_amd = true,
                                                    .nvml_path = STUB_DIR "/stub_nvml.so",
                                                    .urls = urls,
                                                    .url_count = url_count,
                                                    .interval_us = ADL_TELEMETRY_INTERVAL_MIN_US,
                                                    .timeout_us = SECOND / 2});
    const struct adl_gpu_device *devices = adl_telemetry_devices(reader, &count);
    assert_int_equal(count, 3);
    assert_int_equal(adl_inventory_add_devices(&fixture.inventory, &fixture.catalogue, devices, gpus, &err), 0);
    if (adl_telemetry_thread_create(reader, &fixture.inventory, ADL_TELEMETRY_INTERVAL_MIN_US, &thread, &err))
        fail_msg("%s", err.text);
    return thread;
}

static bool wait_for(struct adl_telemetry_thread *thread, int timeout_ms)
{
    struct pollfd it = {.fd = adl_telemetry_thread_fd(thread), .events = POLLIN};
    return poll(&it, 1, timeout_ms) == 1;
}

static void samples_come_with_the_gpus_numbers_in_the_inventory(void **state)
{
    (void)state;
    struct adl_telemetry_thread *thread = open_telemetry(NULL, 0, 3);
    struct adl_telemetry_thread_sample samples[4];
    assert_true(wait_for(thread, 10000));
    assert_int_equal(adl_telemetry_thread_take(thread, samples, 4), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(samples[i].gpu, i);
    /* The V100 is the driver's second GPU and the cluster's third, for types stand together. */
    assert_string_equal(fixture.inventory.gpus[2].id, "GPU-1");
    assert_true(samples[2].sample.telemetry.value[ADL_READ_UTILIZATION] == 0.75f);
    assert_true(samples[1].sample.telemetry.value[ADL_READ_UTILIZATION] == 0.5f);
    adl_telemetry_thread_destroy(thread);
}

static void a_sample_is_given_once_and_then_there_is_the_next(void **state)
{
    (void)state;
    struct adl_telemetry_thread *thread = open_telemetry(NULL, 0, 3);
    struct adl_telemetry_thread_sample first, next[3];
    assert_true(wait_for(thread, 10000));
    assert_int_equal(adl_telemetry_thread_take(thread, &first, 1), 1);
    assert_true(wait_for(thread, 0)); /* two are left */
    assert_in_range(adl_telemetry_thread_take(thread, next, 3), 2, 3);
    assert_true(wait_for(thread, 10000));
    assert_int_equal(adl_telemetry_thread_take(thread, next, 3), 3);
    assert_int_equal(next[0].gpu, first.gpu);
    assert_true(next[0].sample.time_us >= first.sample.time_us + ADL_TELEMETRY_INTERVAL_MIN_US);
    adl_telemetry_thread_destroy(thread);
}

static void a_sample_that_is_not_taken_is_replaced(void **state)
{
    (void)state;
    struct adl_telemetry_thread *thread = open_telemetry(NULL, 0, 3);
    struct adl_telemetry_thread_sample samples[8];
    const struct timespec pause = {.tv_nsec = 450000000};
    int64_t gap_us = 0, last_us = 0;
    /* Had it been kept, it would be one interval after the last that was taken. A slow machine may need longer. */
    for (int i = 0; i < 20 && gap_us < 2 * ADL_TELEMETRY_INTERVAL_MIN_US; i++) {
        assert_true(wait_for(thread, 10000));
        assert_int_equal(adl_telemetry_thread_take(thread, samples, 8), 3);
        assert_int_equal(samples[0].sample.time_us, samples[2].sample.time_us);
        gap_us = last_us > 0 ? samples[0].sample.time_us - last_us : 0;
        last_us = samples[0].sample.time_us;
        nanosleep(&pause, NULL);
    }
    assert_true(gap_us >= 2 * ADL_TELEMETRY_INTERVAL_MIN_US);
    adl_telemetry_thread_destroy(thread);
}

static void gpus_outside_the_inventory_are_not_reported(void **state)
{
    (void)state;
    struct adl_telemetry_thread *thread = open_telemetry(NULL, 0, 2);
    struct adl_telemetry_thread_sample samples[4];
    assert_true(wait_for(thread, 10000));
    assert_int_equal(adl_telemetry_thread_take(thread, samples, 4), 2);
    adl_telemetry_thread_destroy(thread);
}

/* Connections are taken by the kernel, and never answered. */
static int open_silence(char url[64])
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    snprintf(url, 64, "http://127.0.0.1:%d/metrics", ntohs(address.sin_port));
    return fd;
}

static void a_hanging_exporter_delays_neither_samples_nor_the_end_for_long(void **state)
{
    (void)state;
    char url[64];
    const int fd = open_silence(url);
    const char *const urls[] = {url};
    struct adl_telemetry_thread *thread = open_telemetry(urls, 1, 3);
    struct adl_telemetry_thread_sample samples[4];
    struct timespec begun, ended;
    assert_true(wait_for(thread, 10000));
    assert_int_equal(adl_telemetry_thread_take(thread, samples, 4), 3);
    clock_gettime(CLOCK_MONOTONIC, &begun); /* the next sample is under way by now, or soon */
    adl_telemetry_thread_destroy(thread);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    assert_true(ended.tv_sec - begun.tv_sec < 5);
    close(fd);
}

static void destroying_null_does_nothing(void **state)
{
    (void)state;
    adl_telemetry_thread_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_come_with_the_gpus_numbers_in_the_inventory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sample_is_given_once_and_then_there_is_the_next, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sample_that_is_not_taken_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gpus_outside_the_inventory_are_not_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hanging_exporter_delays_neither_samples_nor_the_end_for_long, set_up,
                                        tear_down),
        cmocka_unit_test(destroying_null_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
