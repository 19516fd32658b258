/* test_telemetry_exporter: exporters' pages over real sockets: values, blanks, units, and servers that misbehave. The
 * two pages, made up with the exporters' public names, are seeds of the fuzzer too. */
#include "http_server.h"
#include "telemetry_fixture.h"

#include <stdlib.h>
#include <time.h>

static struct http_server server;
static char dcgm_page[16384]; /* its second GPU lacks profiling: DCGM's blank values */
static char amd_page[16384];

static void load_page(const char *name, char page[16384])
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/corpus/exporter/%s", ADL_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(page, 1, 16383, file);
    fclose(file);
    assert_true(size > 0 && size < 16383);
    page[size] = '\0';
}

static int load_pages(void **state)
{
    (void)state;
    load_page("dcgm", dcgm_page);
    load_page("amd", amd_page);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    server_start(&server);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

static struct adl_telemetry_reader *open_url(const char *url)
{
    return open_reader(&(struct adl_telemetry_options){.no_nvml = true, .no_amd = true, .urls = &url, .url_count = 1});
}

static void serve(const char *body)
{
    server_set(&server, NULL, body, strlen(body), 1);
}

/* One page, read. */
static struct adl_telemetry_reader *read_page(const char *body)
{
    struct adl_telemetry_reader *reader = open_url(server.url);
    serve(body);
    take_sample(reader, SECOND);
    return reader;
}

static void dcgm_pages_become_devices_and_readings(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page(dcgm_page);
    assert_true(status_at(reader, 0)->up);
    assert_int_equal(device_count(reader), 2);
    const struct adl_gpu_device *device = device_at(reader, 0);
    assert_string_equal(device->type, "a100");
    assert_string_equal(device->vendor, "nvidia");
    assert_string_equal(device->pci, "0000:3b:00.0");
    assert_string_equal(device->uuid, "GPU-aaaaaaaa-0000-0000-0000-000000000000");
    assert_string_equal(device->node, ""); /* scraped at loopback: this machine */
    assert_int_equal(device->memory_mib, 40960);
    expect_reading(reader, 0, ADL_READ_UTILIZATION, 0.97);
    expect_reading(reader, 0, ADL_READ_BANDWIDTH, 0.44);
    expect_reading(reader, 0, ADL_READ_TEMPERATURE, 58);
    expect_reading(reader, 0, ADL_READ_POWER, 284.117);
    expect_reading(reader, 0, ADL_READ_CLOCK, 1095.0 / 1410.0);
    expect_reading(reader, 0, ADL_READ_SM, 0.812345);
    expect_reading(reader, 0, ADL_READ_TENSOR, 0.31);
    expect_reading(reader, 0, ADL_READ_DRAM, 0.42);
    expect_reading(reader, 0, ADL_READ_PCIE, 5.0);
    expect_reading(reader, 0, ADL_READ_NVLINK, 118.0);
    assert_int_equal(adl_telemetry_samples(reader)[0].memory_used_mib, 32000);
    assert_false(adl_telemetry_samples(reader)[0].pids_known);
    adl_telemetry_close(reader);
}

static void blank_values_are_missing_and_counted_as_absent(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page(dcgm_page);
    expect_missing(reader, 1, ADL_READ_UTILIZATION);
    expect_missing(reader, 1, ADL_READ_BANDWIDTH);
    expect_missing(reader, 1, ADL_READ_POWER);
    expect_missing(reader, 1, ADL_READ_CLOCK); /* its highest is not on the page */
    expect_reading(reader, 1, ADL_READ_TEMPERATURE, 31);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_ABSENT), 3);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_IMPOSSIBLE), 0);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_MALFORMED), 0);
    adl_telemetry_close(reader);
}

static void amd_pages_become_devices_and_readings(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page(amd_page);
    assert_int_equal(device_count(reader), 2);
    const struct adl_gpu_device *device = device_at(reader, 0);
    assert_string_equal(device->type, "mi300x");
    assert_string_equal(device->vendor, "amd");
    assert_int_equal(device->index, 2);
    assert_int_equal(device->memory_mib, 196592);
    expect_reading(reader, 0, ADL_READ_UTILIZATION, 0.81);
    expect_reading(reader, 0, ADL_READ_BANDWIDTH, 0.35);
    expect_reading(reader, 0, ADL_READ_TEMPERATURE, 71);
    expect_reading(reader, 0, ADL_READ_POWER, 612);
    expect_reading(reader, 0, ADL_READ_CLOCK, 0.8); /* the fastest die, not the memory */
    expect_reading(reader, 0, ADL_READ_TENSOR, 0.275);
    expect_reading(reader, 0, ADL_READ_PCIE, 2.0);
    expect_reading(reader, 0, ADL_READ_THROTTLED, 0.12);
    expect_missing(reader, 1, ADL_READ_UTILIZATION); /* 16 bits set */
    assert_string_equal(adl_telemetry_samples(reader)[0].version, "6.12.12");
    adl_telemetry_close(reader);
}

static void counters_on_pages_become_rates(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\"} 1000000\n"
                                                    "gpu_xgmi_link_rx{gpu_id=\"0\",link_index=\"0\"} 1000000\n"
                                                    "gpu_xgmi_link_tx{gpu_id=\"0\",link_index=\"0\"} 1000000\n"
                                                    "DCGM_FI_DEV_POWER_VIOLATION{gpu=\"0\"} 0\n");
    serve("# HELP DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION Total energy (in mJ).\n"
          "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\"} 1500000\n"
          "gpu_xgmi_link_rx{gpu_id=\"0\",link_index=\"0\"} 5000000\n"
          "gpu_xgmi_link_tx{gpu_id=\"0\",link_index=\"0\"} 1000000\n"
          "DCGM_FI_DEV_POWER_VIOLATION{gpu=\"0\"} 500000000\n");
    take_sample(reader, 3 * SECOND);
    assert_true(fabs(adl_telemetry_samples(reader)[0].energy_j - 500) < 1e-6);
    expect_reading(reader, 0, ADL_READ_POWER, 250);
    expect_reading(reader, 0, ADL_READ_THROTTLED, 0.25);
    expect_reading(reader, 1, ADL_READ_NVLINK, 2.0);
    adl_telemetry_close(reader);
}

static void a_unit_on_the_page_is_used_and_an_unsuitable_one_refused(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page(
        "# UNIT DCGM_FI_DEV_POWER_USAGE milliwatts\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 65535\n"
        "# HELP DCGM_FI_DEV_FB_USED Memory used (in GiB).\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 3\n"
        "# UNIT DCGM_FI_DEV_GPU_TEMP furlongs\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 60\n"
        "# HELP DCGM_FI_DEV_MEM_COPY_UTIL Memory utilization (in MHz).\nDCGM_FI_DEV_MEM_COPY_UTIL{gpu=\"0\"} 4\n"
        "# HELP DCGM_FI_DEV_PCIE_TX_THROUGHPUT Sent (in KB) via NVML.\n"
        "DCGM_FI_DEV_PCIE_TX_THROUGHPUT{gpu=\"0\"} 1000000\n"
        "DCGM_FI_DEV_PCIE_RX_THROUGHPUT{gpu=\"0\"} 500000\n");
    expect_reading(reader, 0, ADL_READ_POWER, 65.535);
    assert_int_equal(adl_telemetry_samples(reader)[0].memory_used_mib, 3072);
    expect_missing(reader, 0, ADL_READ_TEMPERATURE);
    expect_missing(reader, 0, ADL_READ_BANDWIDTH);
    expect_reading(reader, 0, ADL_READ_PCIE, 1.5);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_UNIT), 2);
    adl_telemetry_close(reader);
}

static void impossible_values_are_missing_and_counted(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 100.5\n"
                                                    "DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\"} 37\n"      /* a percentage */
                                                    "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 284117\n" /* mW */
                                                    "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} -300\n"
                                                    "DCGM_FI_DEV_MEM_COPY_UTIL{gpu=\"0\"} NaN\n"
                                                    "DCGM_FI_PROF_DRAM_ACTIVE{gpu=\"0\"} -1\n"
                                                    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=\"0\"} +Inf\n");
    for (int r = 0; r < ADL_READ_COUNT; r++)
        expect_missing(reader, 0, r);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_IMPOSSIBLE), 4);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_ABSENT), 3);
    adl_telemetry_close(reader);
}

static void malformed_lines_do_not_spoil_the_others(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\" 50\n"
                                                    "DCGM_FI_DEV_GPU_UTIL{gpu=\"zero\"} 50\n"
                                                    "DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-x\"} 50\n"
                                                    "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 5o\n"
                                                    "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 45\n"
                                                    "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 28"); /* cut off: 284 once */
    assert_int_equal(device_count(reader), 1);
    expect_missing(reader, 0, ADL_READ_UTILIZATION);
    expect_reading(reader, 0, ADL_READ_TEMPERATURE, 45);
    expect_missing(reader, 0, ADL_READ_POWER);
    assert_int_equal(fault_count(reader, 0, ADL_FAULT_MALFORMED), 5);
    adl_telemetry_close(reader);
}

static void an_exporter_that_fails_leaves_readings_missing_until_it_is_back(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page(dcgm_page);
    server_set(&server, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "", 0, 1);
    take_sample(reader, 2 * SECOND);
    assert_false(status_at(reader, 0)->up);
    assert_non_null(strstr(status_at(reader, 0)->text, "503"));
    assert_int_equal(device_count(reader), 2);
    expect_missing(reader, 0, ADL_READ_POWER);
    assert_false(adl_telemetry_samples(reader)[0].lost); /* the exporter is gone, not the GPU */
    serve(dcgm_page);
    take_sample(reader, 3 * SECOND);
    assert_true(status_at(reader, 0)->up);
    assert_string_equal(status_at(reader, 0)->text, "");
    assert_int_equal(device_count(reader), 2);
    expect_reading(reader, 0, ADL_READ_POWER, 284.117);
    adl_telemetry_close(reader);
}

static void redirects_are_not_followed(void **state)
{
    (void)state;
    static char head[200]; /* the server may read it after this test */
    struct adl_telemetry_reader *reader = open_url(server.url);
    snprintf(head, sizeof head, "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", server.url);
    server_set(&server, head, "", 0, 1);
    take_sample(reader, SECOND);
    assert_non_null(strstr(status_at(reader, 0)->text, "redirects are not followed"));
    assert_int_equal(atomic_load(&server.served), 1);
    adl_telemetry_close(reader);
}

static void pages_and_headers_without_end_are_given_up(void **state)
{
    (void)state;
    static char block[65536];
    struct adl_telemetry_reader *reader = open_url(server.url);
    memset(block, '#', sizeof block);
    server_set(&server, NULL, block, sizeof block, 100000);
    take_sample(reader, SECOND);
    assert_non_null(strstr(status_at(reader, 0)->text, "longer than 8 MiB"));
    server_set(&server, "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", block, sizeof block, 100000);
    take_sample(reader, 2 * SECOND);
    assert_non_null(strstr(status_at(reader, 0)->text, "longer than 8 MiB"));
    static const char header[] = "X-Padding: 0123456789012345678901234567890123456789012345678901234567890123\r\n";
    server_set(&server, "HTTP/1.1 200 OK\r\n", header, strlen(header), 100000);
    take_sample(reader, 3 * SECOND);
    assert_non_null(strstr(status_at(reader, 0)->text, "headers are longer than 64 KiB"));
    adl_telemetry_close(reader);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void silent_servers_cost_one_timeout_together(void **state)
{
    (void)state;
    struct http_server second, third;
    server_start(&second);
    server_start(&third);
    server.mute = second.mute = third.mute = true;
    const char *urls[] = {server.url, second.url, third.url, "http://127.0.0.1:1/metrics"};
    struct adl_telemetry_reader *reader = open_reader(&(struct adl_telemetry_options){
        .no_nvml = true, .no_amd = true, .urls = urls, .url_count = 4, .timeout_us = 500000});
    const double before_s = now_s();
    take_sample(reader, SECOND);
    const double took_s = now_s() - before_s;
    assert_true(took_s > 0.4 && took_s < 1.3); /* not three timeouts one after the other */
    for (uint32_t i = 0; i < 4; i++)
        assert_false(status_at(reader, i)->up);
    adl_telemetry_close(reader);
    server_stop(&second);
    server_stop(&third);
}

static void a_page_that_is_not_of_metrics_is_refused(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader = read_page("<!DOCTYPE html>\n<html>\n<body>Log in</body>\n</html>\n");
    assert_false(status_at(reader, 0)->up);
    assert_non_null(strstr(status_at(reader, 0)->text, "not a page of metrics"));
    assert_int_equal(device_count(reader), 0);
    adl_telemetry_close(reader);
}

static void expect_refused(const char *url, const char *text)
{
    struct adl_telemetry_reader *reader = NULL;
    struct adl_error err = {{0}};
    const struct adl_telemetry_options options = {.no_nvml = true, .no_amd = true, .urls = &url, .url_count = 1};
    assert_int_equal(adl_telemetry_open(&options, &reader, &err), ADL_EINVAL);
    assert_null(reader);
    assert_non_null(strstr(err.text, text));
}

static void only_plain_web_addresses_are_taken(void **state)
{
    (void)state;
    expect_refused("file:///etc/passwd", "must be like http://");
    expect_refused("gopher://localhost/", "must be like http://");
    expect_refused("localhost:9400/metrics", "must be like http://");
    expect_refused("http:///", "must be like http://");
    expect_refused("", "must be like http://");
    expect_refused("http://root:secret@localhost/metrics", "may not hold a name or password");
}

static void a_password_in_an_address_is_in_no_message(void **state)
{
    (void)state;
    const char *url = "http://root:secret@localhost/metrics";
    struct adl_telemetry_reader *reader = NULL;
    struct adl_error err = {{0}};
    const struct adl_telemetry_options options = {.no_nvml = true, .no_amd = true, .urls = &url, .url_count = 1};
    assert_true(adl_telemetry_open(&options, &reader, &err) < 0);
    assert_null(strstr(err.text, "secret"));
}

/* The same as an exporter elsewhere would be, whose host name is on its page. */
static void gpus_elsewhere_carry_the_name_of_their_node(void **state)
{
    (void)state;
    char url[80];
    snprintf(url, sizeof url, "http://0.0.0.0%s", strrchr(server.url, ':')); /* loopback, but not by its name */
    struct adl_telemetry_reader *reader = open_url(url);
    serve(dcgm_page);
    take_sample(reader, SECOND);
    assert_string_equal(device_at(reader, 0)->node, "gpu-node-7");
    serve("gpu_gfx_activity{gpu_id=\"0\"} 5\n"); /* a page that names no host has that of its address */
    take_sample(reader, 2 * SECOND);
    assert_string_equal(device_at(reader, 2)->node, "0.0.0.0");
    adl_telemetry_close(reader);
}

static void proxies_of_the_environment_are_not_used(void **state)
{
    (void)state;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    struct adl_telemetry_reader *reader = read_page(dcgm_page);
    unsetenv("http_proxy");
    assert_true(status_at(reader, 0)->up);
    adl_telemetry_close(reader);
}

/* Containers of an exporter name a host of their own, a new one after each restart. */
static void a_gpu_stays_the_same_when_its_host_is_renamed(void **state)
{
    (void)state;
    struct adl_telemetry_reader *reader =
        read_page("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"a\"} 10\n");
    serve("DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"b\"} 20\n");
    take_sample(reader, 2 * SECOND);
    assert_int_equal(device_count(reader), 1);
    expect_reading(reader, 0, ADL_READ_UTILIZATION, 0.2);
    adl_telemetry_close(reader);
}

/* A page of nothing but new GPUs, as large as pages may be. */
static void a_hostile_page_costs_bounded_memory_and_time(void **state)
{
    (void)state;
    const size_t room = 8u << 20;
    char *text = malloc(room);
    assert_non_null(text);
    size_t size = 0;
    for (unsigned i = 0; size + 64 < room; i++)
        size += (size_t)snprintf(text + size, 64, "gpu_clock{gpu_id=\"%u\"} 1\n", i % 1000000);
    struct adl_telemetry_reader *reader = open_url(server.url);
    server_set(&server, NULL, text, size, 1);
    take_sample(reader, SECOND);
    assert_true(status_at(reader, 0)->up);
    assert_int_equal(device_count(reader), ADL_TELEMETRY_DEVICES_MAX);
    adl_telemetry_close(reader);
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(dcgm_pages_become_devices_and_readings),
        TEST(blank_values_are_missing_and_counted_as_absent),
        TEST(amd_pages_become_devices_and_readings),
        TEST(counters_on_pages_become_rates),
        TEST(a_unit_on_the_page_is_used_and_an_unsuitable_one_refused),
        TEST(impossible_values_are_missing_and_counted),
        TEST(malformed_lines_do_not_spoil_the_others),
        TEST(an_exporter_that_fails_leaves_readings_missing_until_it_is_back),
        TEST(redirects_are_not_followed),
        TEST(pages_and_headers_without_end_are_given_up),
        TEST(silent_servers_cost_one_timeout_together),
        TEST(a_page_that_is_not_of_metrics_is_refused),
        TEST(only_plain_web_addresses_are_taken),
        TEST(a_password_in_an_address_is_in_no_message),
        TEST(gpus_elsewhere_carry_the_name_of_their_node),
        TEST(a_gpu_stays_the_same_when_its_host_is_renamed),
        TEST(a_hostile_page_costs_bounded_memory_and_time),
        TEST(proxies_of_the_environment_are_not_used),
    };
    return cmocka_run_group_tests(tests, load_pages, NULL);
}
