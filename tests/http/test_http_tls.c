/* TLS with a certificate made for the occasion; the client is openssl's. */
#include "http_fixture.h"

static bool has_openssl(void)
{
    return system("command -v openssl >/dev/null 2>&1") == 0;
}

static void require_openssl(void)
{
    if (has_openssl())
        return;
    print_message("skipped: there is no openssl\n");
    skip();
}

static void run(const char *fmt, ...)
{
    char command[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(command, sizeof command, fmt, args);
    va_end(args);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

struct tls_fixture {
    struct http_fixture *http;
    char cert[96], key[96];
};

static struct tls_fixture tls_create(void)
{
    struct tls_fixture tls = {.http = fixture_create()};
    snprintf(tls.cert, sizeof tls.cert, "%s/cert.pem", tls.http->folder);
    snprintf(tls.key, sizeof tls.key, "%s/key.pem", tls.http->folder);
    run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
        "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s >/dev/null 2>&1 && chmod 600 %s",
        tls.key, tls.cert, tls.key);
    return tls;
}

static int tls_open(struct tls_fixture *tls, const char *address, struct adl_error *err)
{
    struct adl_http_config config = fixture_config(tls->http);
    config.tcp = address;
    config.tls_cert = tls->cert;
    config.tls_key = tls->key;
    config.limits.receive_us = 1000000;
    return adl_http_open(&config, &tls->http->http, err);
}

static void tls_close(struct tls_fixture *tls)
{
    unlink(tls->cert);
    unlink(tls->key);
    fixture_close(tls->http);
}

/* What openssl's client, with these options, gets for the request. */
static struct adl_text ask(struct tls_fixture *tls, const char *options, const char *request)
{
    char command[1024], buffer[4096];
    struct adl_text answer = {0};
    snprintf(command, sizeof command,
             "printf '%s\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' | timeout 10 openssl s_client -quiet "
             "-connect 127.0.0.1:%d %s 2>&1",
             request, adl_http_port(tls->http->http), options);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        adl_text_bytes(&answer, buffer, got);
    pclose(pipe);
    adl_text_put(&answer, "");
    return answer;
}

static void expect_answer(struct tls_fixture *tls, const char *options, const char *request, const char *wanted)
{
    struct adl_text answer = ask(tls, options, request);
    if (!strstr(answer.data, wanted))
        fail_msg("%s: not in the answer: %s\n%s", options, wanted, answer.data);
    adl_text_clear(&answer);
}

static void a_client_that_trusts_the_certificate_is_served(void **state)
{
    struct adl_error err = {{0}};
    char options[256], request[256];
    (void)state;
    require_openssl();
    struct tls_fixture tls = tls_create();
    if (tls_open(&tls, "127.0.0.1:0", &err) < 0)
        fail_msg("%s", err.text);
    snprintf(options, sizeof options, "-CAfile %s -verify_return_error -verify_ip 127.0.0.1", tls.cert);
    expect_answer(&tls, options, "GET /healthz HTTP/1.1", "hello");
    expect_answer(&tls, "-tls1_3", "GET /healthz HTTP/1.1", "HTTP/1.1 200");
    expect_answer(&tls, "-tls1_2", "GET /healthz HTTP/1.1", "HTTP/1.1 200");
    expect_answer(&tls, "", "GET /v1/whoami HTTP/1.1", "HTTP/1.1 401");
    snprintf(request, sizeof request, "GET /v1/whoami HTTP/1.1\\r\\nAuthorization: Bearer %s", tls.http->token);
    expect_answer(&tls, "", request, fixture_user());
    expect_answer(&tls, "", "GET /v1/big HTTP/1.1", "HTTP/1.1 401");
    struct adl_text answer = ask(&tls, "-tls1_1 -cipher ALL:@SECLEVEL=0", "GET /healthz HTTP/1.1");
    assert_null(strstr(answer.data, "hello")); /* too old */
    adl_text_clear(&answer);
    tls_close(&tls);
}

static void a_client_without_tls_or_with_an_endless_handshake_is_cut_off(void **state)
{
    struct adl_error err = {{0}};
    static const char plain[] = "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n";
    (void)state;
    require_openssl();
    struct tls_fixture tls = tls_create();
    assert_int_equal(tls_open(&tls, "0.0.0.0:0", &err), ADL_OK); /* with TLS any address will do */
    const int silent = fixture_connect_tcp(tls.http), wrong = fixture_connect_tcp(tls.http);
    struct adl_text answer = {0};
    fixture_send(wrong, plain, sizeof plain - 1);
    fixture_read_until(wrong, &answer, NULL, 5000);
    assert_true(!answer.data || !strstr(answer.data, "hello"));
    assert_true(fixture_ends(silent, 5000));
    close(silent);
    close(wrong);
    adl_text_clear(&answer);
    expect_answer(&tls, "", "GET /healthz HTTP/1.1", "hello");
    tls_close(&tls);
}

static void keys_that_are_open_to_all_or_of_another_are_refused(void **state)
{
    struct adl_error err = {{0}};
    (void)state;
    require_openssl();
    struct tls_fixture tls = tls_create(), other = tls_create();
    assert_int_equal(chmod(tls.key, 0644), 0);
    assert_int_equal(tls_open(&tls, "127.0.0.1:0", &err), ADL_EINVAL);
    assert_non_null(strstr(err.text, "chmod 600"));
    assert_int_equal(chmod(tls.key, 0640), 0);
    char own[96];
    snprintf(own, sizeof own, "%s", tls.key);
    snprintf(tls.key, sizeof tls.key, "%s", other.key);
    assert_int_equal(tls_open(&tls, "127.0.0.1:0", &err), ADL_EIO);
    assert_non_null(strstr(err.text, "belong together"));
    snprintf(tls.key, sizeof tls.key, "%s", own);
    tls_close(&other);
    tls_close(&tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_trusts_the_certificate_is_served),
        cmocka_unit_test(a_client_without_tls_or_with_an_endless_handshake_is_cut_off),
        cmocka_unit_test(keys_that_are_open_to_all_or_of_another_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
