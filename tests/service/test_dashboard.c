/* The dashboard as a person at a browser sees it, served by the real service on virtual GPUs. */
#include "http/auth.h"
#include "webdriver.h"

#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <sys/stat.h>

struct lab {
    char folder[64];
    char token[ADL_TOKEN_SIZE];
    int port;
    pid_t service;
    struct webdriver browser;
};

static struct lab lab; /* one for all tests: a browser takes its time to start */

/* --- the service --- */

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", lab.folder, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void write_configuration(void)
{
    char line[ADL_TOKEN_LINE_SIZE + 1], text[800];
    struct adl_error err = {{0}};
    const struct passwd *me = getpwuid(geteuid());
    assert_non_null(me);
    assert_int_equal(adl_token_create(me->pw_name, 0, lab.token, line, &err), ADL_OK);
    strcat(line, "\n");
    write_file("tokens", line);
    snprintf(text, sizeof text,
             "virtual: true\n"
             "cluster:\n"
             "  network_gbs: 1\n"
             "  nodes:\n"
             "    - {name: box, cpu_cores: 8, memory_mib: 65536, link_gbs: 10,\n"
             "       gpus: [{type: v100, count: 2}, {type: t4, count: 1}]}\n"
             "listen: {socket: %s/socket, tcp: '127.0.0.1:%d', tokens: %s/tokens}\n"
             "jobs: {root: true, grace_s: 1}\n",
             lab.folder, lab.port, lab.folder);
    write_file("config.yaml", text);
}

static void start_service(void)
{
    char state[96], config[96], log[96];
    char program[] = ADL_PROGRAM, verb[] = "serve", state_option[] = "--state", config_option[] = "--config";
    snprintf(state, sizeof state, "%s/state", lab.folder);
    snprintf(config, sizeof config, "%s/config.yaml", lab.folder);
    snprintf(log, sizeof log, "%s/log", lab.folder);
    char *argv[] = {program, verb, state_option, state, config_option, config, NULL};
    lab.service = webdriver_spawn(argv, log);
}

static bool service_answers(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)lab.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool there = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return there;
}

static void await_service(void)
{
    for (int i = 0; i < 200 && !service_answers(); i++) {
        if (waitpid(lab.service, NULL, WNOHANG) == lab.service) {
            lab.service = 0;
            fail_msg("the service ended: see %s/log", lab.folder);
        }
        webdriver_sleep_ms(50);
    }
}

static void end_service(int signal)
{
    if (lab.service <= 0)
        return;
    kill(lab.service, signal);
    waitpid(lab.service, NULL, 0);
    lab.service = 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    return remove(path);
}

static int open_lab(void **state)
{
    (void)state;
    snprintf(lab.folder, sizeof lab.folder, "%s", "/tmp/adlro-dashboard-XXXXXX");
    assert_non_null(mkdtemp(lab.folder));
    lab.port = webdriver_free_port();
    write_configuration();
    start_service();
    webdriver_open(&lab.browser); /* meanwhile */
    await_service();
    return 0;
}

/* Jobs outlive their service; those of the test must not outlive the test. */
static void cancel_jobs(void)
{
    cJSON *body = cJSON_Parse(
        "{\"args\":[],\"script\":\"const done = arguments[0], headers = {Authorization: 'Bearer ' + "
        "sessionStorage.getItem('adlro-token')}; const ask = (method, path) => fetch(path, {method, headers}); "
        "ask('GET', '/v1/jobs').then(answer => answer.json()).then(page => Promise.all(page.jobs.map(job => "
        "ask('DELETE', '/v1/jobs/' + job.id)))).then(() => done(1), () => done(0))\"}");
    cJSON_Delete(webdriver_try(&lab.browser, "POST", "/execute/async", body, NULL));
    cJSON_Delete(body);
    webdriver_sleep_ms(300);
}

static int close_lab(void **state)
{
    (void)state;
    cancel_jobs();
    webdriver_close(&lab.browser);
    end_service(SIGTERM);
    return nftw(lab.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* --- the page --- */

static void await(const char *expression)
{
    webdriver_wait(&lab.browser, expression);
}

static bool is(const char *expression)
{
    return webdriver_is(&lab.browser, expression);
}

/* Waits for a row of the table with all of the words. */
static void await_row(const char *table, const char *name, const char *word)
{
    char expression[300];
    snprintf(expression, sizeof expression,
             "[...document.querySelectorAll('#%s tbody tr')].some(row => row.innerText.includes('%s') && "
             "row.innerText.includes('%s'))",
             table, name, word);
    await(expression);
}

static void submit(const char *command, const char *name, const char *gpus)
{
    /* The focus leaves a closed dialog with the next frame; until then keys are the dialog's. */
    await("!document.querySelector('dialog[open]') && !document.activeElement.closest('dialog')");
    webdriver_press(&lab.browser, "s");
    await("document.querySelector('#submit-dialog').open");
    webdriver_type(&lab.browser, "#f-command", command);
    webdriver_type(&lab.browser, "#f-name", name);
    webdriver_type(&lab.browser, "#f-gpus", gpus);
    webdriver_type(&lab.browser, "#f-directory", lab.folder);
    webdriver_click(&lab.browser, "#submit-go");
    await("!document.querySelector('#submit-dialog').open");
}

static void open_job(const char *table, const char *name)
{
    char script[300];
    snprintf(script, sizeof script,
             "[...document.querySelectorAll('#%s tbody tr')].find(row => row.innerText.includes('%s'))"
             ".querySelector('button').click(); return true",
             table, name);
    cJSON_Delete(webdriver_run(&lab.browser, script));
    await("document.querySelector('#job-dialog').open");
}

static void close_dialog(void)
{
    webdriver_press(&lab.browser, "\\uE00C");
    await("!document.querySelector('dialog[open]')");
}

static void run(const char *script)
{
    cJSON_Delete(webdriver_run(&lab.browser, script));
}

/* From now on the page reads answer, an expression, in place of what the service answers to a path. */
static void fake(const char *path, int status, const char *answer)
{
    char script[1600];
    snprintf(script, sizeof script,
             "if (!window.fakes) { const real = fetch; window.fakes = {}; window.fetch = async (path, options) => "
             "fakes[path] ? fakes[path](await real(path, options)) : real(path, options); }"
             "fakes['%s'] = async (response) => new Response(JSON.stringify(%s), {status: %d, headers: "
             "{'Retry-After': '7'}})",
             path, answer, status);
    run(script);
}

static void request_shadow(const char *method, const char *body)
{
    char script[300];
    snprintf(
        script, sizeof script,
        "fetch('/v1/shadow', {method: '%s', body: %s, headers: {'Content-Type': 'application/json', Authorization: "
        "'Bearer ' + sessionStorage.getItem('adlro-token')}})",
        method, body);
    run(script);
}

/* --- tests, in the order of a visit --- */

static void the_page_asks_for_a_token_and_then_is_live(void **state)
{
    char json[128];
    (void)state;
    snprintf(json, sizeof json, "{\"url\":\"http://127.0.0.1:%d/\"}", lab.port);
    webdriver_tell(&lab.browser, "/url", json);
    await("document.querySelector('#token-dialog').open");
    webdriver_type(&lab.browser, "#token-text", "adl_00000000_wrong");
    webdriver_click(&lab.browser, "#token-form button");
    await("document.querySelector('#token-note').textContent.includes('does not know')");
    webdriver_type(&lab.browser, "#token-text", lab.token);
    webdriver_click(&lab.browser, "#token-form button");
    await("document.querySelector('#connection').dataset.state === 'live'");
    await("document.querySelectorAll('#map .gpu').length === 3");
    assert_true(is("document.querySelector('#world').textContent === 'Virtual GPUs'"));
    assert_true(is("document.querySelector('#policy').textContent.startsWith('easy')"));
    assert_true(is("sessionStorage.length > 0 && !JSON.stringify(localStorage).includes('adl_')"));
}

static void a_job_of_the_form_runs_and_completes(void **state)
{
    (void)state;
    submit("sleep 2.5", "e2e-short", "1");
    await_row("running", "e2e-short", "box");
    await("document.querySelectorAll('#map .gpu[data-state=busy]').length === 1");
    await("document.querySelector('#map .gpu[data-state=busy]').innerText.includes('e2e-short')");
    await_row("ended", "e2e-short", "completed");
    await("document.querySelectorAll('#map .gpu[data-state=busy]').length === 0");
    await("document.querySelector('#decision-list').innerText.includes('start')");
}

static void the_job_that_ended_last_comes_first_and_has_its_timeline(void **state)
{
    (void)state;
    submit("sh -c 'until test -e go; do sleep 0.1; done'", "e2e-slow", "1");
    submit("true", "e2e-fast", "1");
    await_row("ended", "e2e-fast", "completed");
    write_file("go", "");
    await_row("ended", "e2e-slow", "completed");
    assert_true(is("document.querySelector('#ended tbody tr').innerText.includes('e2e-slow')"));
    open_job("ended", "e2e-slow");
    await("/ran [\\d.]+ s[^]*on (v100|t4) on box[^]*completed/.test(document.querySelector('#job-phases').innerText)");
    assert_true(is("document.querySelector('#job-bar [data-kind=running]').offsetWidth > 100"));
    assert_true(is("/^All \\d events$/.test(document.querySelector('#job-log summary').textContent)"));
    close_dialog();
}

static void a_gpu_has_the_jobs_that_ran_on_it(void **state)
{
    (void)state;
    run("document.querySelector('#map .gpu').click()");
    await("/e2e-(short|slow|fast)[^]*completed/.test(document.querySelector('#gpu-runs').innerText)");
    assert_true(is("/^The last \\d+ m/.test(document.querySelector('#gpu-range').textContent)"));
    assert_true(is("document.querySelector('#gpu-bar i').offsetWidth > 0"));
    run("document.querySelector('#gpu-runs button').click()");
    await("document.querySelector('#job-dialog').open && !document.querySelector('#gpu-dialog').open");
    close_dialog();
}

static void a_user_who_is_chosen_has_only_that_users_jobs_shown(void **state)
{
    (void)state;
    run("document.querySelector('#range input[value=\"360\"]').click()");
    await("document.querySelector('#users-note').textContent === 'over the last 6 h'");
    await("/^\\S+\\s+0\\s+0\\s+0\\s.* s\\s+3$/.test(document.querySelector('#users tbody tr').innerText)");
    run("document.querySelector('#users tbody button').click()");
    await("document.querySelector('#filter-mine').checked && document.querySelector('#users [aria-pressed=true]')");
    fake("/v1/users?minutes=360&limit=10", 200,
         "{from_s: 1, until_s: 2, complete: false, next: null, users: [{user: 'nobody', running: 0, waiting: 2, gpus: "
         "0, ended: 0, completed: 0, gpu_hours: 1234.5, wait_mean_s: null}]}");
    run("document.querySelector('#range input[value=\"1440\"]').click();"
        "document.querySelector('#range input[value=\"360\"]').click()");
    await("document.querySelector('#users tbody').innerText.includes('1,23')");
    run("document.querySelector('#users tbody button').click()");
    await("document.querySelector('#filter-text').value === 'nobody' && document.querySelector('#ended "
          ".empty').textContent.includes('of nobody')");
    run("delete fakes['/v1/users?minutes=360&limit=10']; document.querySelector('#users tbody button').click();"
        "document.querySelector('#range input[value=\"60\"]').click()");
    await_row("ended", "e2e-slow", "completed");
}

static void a_form_with_a_mistake_says_what_is_wrong(void **state)
{
    (void)state;
    webdriver_press(&lab.browser, "s");
    await("document.querySelector('#submit-dialog').open");
    webdriver_type(&lab.browser, "#f-command", "echo 'half");
    webdriver_click(&lab.browser, "#submit-go");
    await("document.querySelector('#submit-answer').textContent.includes('not closed')");
    webdriver_type(&lab.browser, "#f-command", "true");
    webdriver_type(&lab.browser, "#f-gpus", "no-such-gpu:1");
    webdriver_click(&lab.browser, "#submit-check");
    await("document.querySelector('#submit-answer').dataset.kind === 'error' && "
          "document.querySelector('#submit-answer').textContent.includes('no-such-gpu')");
    close_dialog();
}

static void a_job_that_waits_says_why_and_until_when(void **state)
{
    (void)state;
    submit("sleep 100", "e2e-long", "v100:2");
    await_row("running", "e2e-long", "2 × v100");
    submit("true '<img src=x onerror=alert(1)>'", "e2e-waits", "v100:2");
    await("[...document.querySelectorAll('#queue tbody tr')].some(row => row.innerText.includes('e2e-waits') && "
          "row.querySelector('.c-why').textContent.length > 5)");
    await("[...document.querySelectorAll('#queue tbody tr')].some(row => row.innerText.includes('e2e-waits') && "
          "/\\d\\d:\\d\\d/.test(row.querySelector('.c-start').innerText) && row.querySelector('.band').offsetWidth > "
          "20)");
    await("document.querySelector('#queue-note').textContent.includes('rest on time limits')");
    open_job("queue", "e2e-waits");
    await("document.querySelector('#job-facts').innerText.includes('by time limits')");
    await("document.querySelector('#job-command').textContent.includes('<img src=x')");
    assert_true(is("!document.querySelector('#job-dialog img')"));
    webdriver_click(&lab.browser, "[data-action=hold]");
    await("document.querySelector('[data-action=release]')");
    webdriver_click(&lab.browser, "[data-action=release]");
    await("document.querySelector('[data-action=hold]')");
    close_dialog();
}

static void a_job_that_waits_says_who_is_in_its_way(void **state)
{
    (void)state;
    open_job("queue", "e2e-waits");
    await("/Earliest room: 2 × v100 in box at .*#\\d+ \\(e2e-long of .*ends as predicted/"
          ".test(document.querySelector('#job-blockers').innerText)");
    run("document.querySelector('#job-blockers button').click()");
    await("document.querySelector('#job-title').textContent.includes('e2e-long')");
    assert_true(is("document.querySelector('#whatif').hidden"));
    await("document.querySelector('#job-blockers').hidden");
    close_dialog();
}

static void a_job_that_waits_is_asked_what_if(void **state)
{
    (void)state;
    open_job("queue", "e2e-waits");
    await("document.querySelector('#whatif-ask').textContent === 'What would help?'");
    webdriver_click(&lab.browser, "#w-types input[value=t4]");
    run("const gpus = document.querySelector('#w-gpus'); gpus.value = 1; gpus.dispatchEvent(new Event('input', "
        "{bubbles: true}))");
    await("document.querySelector('#whatif-ask').textContent === 'Ask'");
    webdriver_click(&lab.browser, "#whatif-ask");
    await("/^As it is, it starts at .*Allowing t4, with 1 GPU: .* sooner \\(.*futures? under easy/s"
          ".test(document.querySelector('#whatif-answer').innerText)");
    assert_true(is("document.querySelector('#whatif-answer .score-band[data-kind=good]').offsetWidth > 50"));
    fake("/v1/whatif", 503, "{error: {code: 'busy', message: 'Too many <b>questions</b> wait.'}}");
    webdriver_click(&lab.browser, "#whatif-ask");
    await("document.querySelector('#whatif-note').textContent === 'The service is busy: Too many <b>questions</b> "
          "wait. Ask again in 7 seconds.'");
    assert_true(is("!document.querySelector('#whatif-answer').textContent"));
    run("delete fakes['/v1/whatif']");
    close_dialog();
}

static void a_policy_that_shadows_has_its_score_on_the_page(void **state)
{
    (void)state;
    assert_true(is("document.querySelector('#shadow').hidden"));
    request_shadow("POST", "'{\"policy\":\"fcfs\"}'");
    await("!document.querySelector('#shadow').hidden && document.querySelector('#shadow-note').textContent === "
          "'fcfs shadows easy'");
    await("document.querySelector('#shadow-gate').textContent.startsWith('Gate closed')");
    fake("/v1/shadow", 200,
         "{in_force: 'easy', state: 'open', candidate: 'sjf', gate: 'manual', reason: 'a <i>gain</i>', trouble: '', "
         "windows: 12, jobs: 800, days: 7.25, days_needed: 7, model_bias: 0.001, figures: {jct_s: {in_force: 600, "
         "shadow: 450, change: -0.25, change_lo: -0.4, change_hi: -0.1}, energy_j: {in_force: 3.6e6, shadow: 3.6e6, "
         "change: 0, change_lo: null, change_hi: null}}}");
    request_shadow("POST", "'{\"policy\":\"sjf\"}'"); /* an event follows, and the page reads it again */
    await("document.querySelector('#shadow-gate').textContent === 'Gate open: it may be promoted: a <i>gain</i>'");
    assert_true(is("/−25 %.*−40 % to −10 %/s.test(document.querySelector('#shadow-figures').innerText)"));
    assert_true(is("document.querySelector('#shadow-figures').innerText.includes('too few windows')"));
    assert_true(
        is("document.querySelector('#shadow-evidence').textContent.startsWith('12 windows, 800 jobs, 7.3 of')"));
    run("delete fakes['/v1/shadow']");
    request_shadow("DELETE", "undefined");
    await("document.querySelector('#shadow').hidden");
}

static void a_twin_has_ranges_in_its_own_time_and_a_drained_gpu_says_how_to_try_it(void **state)
{
    (void)state;
    fake("/v1/cluster", 200, "{...await response.json(), speed: 60}");
    fake(
        "/v1/health", 200,
        "{...await response.json(), gpus: [{gpu: 2, id: 'v-2', state: 'drained', drained: true, drained_s: 7200, text: "
        "'box/2 is slow'}]}");
    request_shadow("POST", "'{\"policy\":\"fcfs\"}'"); /* an event follows, and the page reads both again */
    await("[...document.querySelectorAll('#range span')].map(one => one.textContent).join() === '2 d 12 h,15 d,60 d'");
    await("/mean of the last \\d+ [mhd]/.test(document.querySelector('#t-jct-under').textContent)");
    run("delete fakes['/v1/cluster']");
    request_shadow("DELETE", "undefined");
    await("[...document.querySelectorAll('#range span')].map(one => one.textContent).join() === '1 h,6 h,24 h'");
    await("document.querySelector('#t-jct-under').textContent === 'mean of the last hour'");
    await(
        "document.querySelector('#health li').textContent === 'box/2 is slow; adlro drained it at 02:00:00, so nothing "
        "is measured on it. To try it again: adlro drain 2 --resume, or take it back into service in its dialog'");
    run("delete fakes['/v1/health']");
}

static void a_running_job_is_cancelled_by_two_clicks(void **state)
{
    (void)state;
    submit("sleep 100", "e2e-cancel", "t4:1");
    await_row("running", "e2e-cancel", "t4");
    open_job("running", "e2e-cancel");
    webdriver_click(&lab.browser, "[data-action=cancel]");
    assert_true(is("document.querySelector('#job-state').textContent === 'running'"));
    webdriver_click(&lab.browser, "[data-action=cancel]");
    await("document.querySelector('#job-state').textContent === 'cancelled'");
    await("document.querySelectorAll('#job-events li').length >= 3");
    close_dialog();
    await_row("ended", "e2e-cancel", "cancelled");
}

static void members_of_an_array_go_by_it_and_their_index(void **state)
{
    (void)state;
    run("document.querySelector('#f-array').value = '3-4'");
    submit("sleep 100", "e2e-array", "t4:1");
    await_row("running", "e2e-array", "_3");
    await_row("queue", "e2e-array", "_4");
    run("window.array = /#(\\d+)_3/.exec(document.querySelector('#running').innerText)[1]");
    await("document.querySelector('#decision-list').innerText.includes(`#${array}_3`)");
    run("document.querySelector('#map .gpu[data-gpu=\"2\"]').click()");
    await("document.querySelector('#gpu-jobs').innerText.includes(`#${array}_3 e2e-array`)");
    close_dialog();
    run("document.querySelector('#filter-text').value = `#${array}_3`; "
        "document.querySelector('#filter').requestSubmit()");
    await("document.querySelector('#job-dialog').open");
    assert_true(is("document.querySelector('#job-title').textContent === `#${array}_3 e2e-array`"));
    await("document.querySelectorAll('#job-events li').length >= 2");
    assert_true(is("!document.querySelector('#job-events').innerText.includes('label')"));
    close_dialog();
    run("document.querySelector('#filter-text').value = ''; document.querySelector('#f-array').value = '';"
        "document.querySelector('#f-after').value = `#${array}_4`");
    submit("true", "e2e-next", "1");
    await_row("queue", "e2e-next", "waits for job");
    run("document.querySelector('#f-after').value = '';"
        "const headers = {Authorization: 'Bearer ' + sessionStorage.getItem('adlro-token')};"
        "for (const index of [4, 3]) fetch(`/v1/jobs/${array}_${index}`, {method: 'DELETE', headers})");
    await_row("ended", "e2e-next", "completed");
    await_row("ended", "e2e-array", "_3");
}

static void the_page_comes_back_after_the_service_was_killed(void **state)
{
    (void)state;
    end_service(SIGKILL);
    await("document.querySelector('#connection').dataset.state === 'lost'");
    start_service();
    await("document.querySelector('#connection').dataset.state === 'live'");
    await_row("running", "e2e-long", "2 × v100");
    await_row("queue", "e2e-waits", "v100");
    await_row("ended", "e2e-short", "completed");
    submit("sleep 0.2", "e2e-after", "t4:1");
    await_row("ended", "e2e-after", "completed");
}

static void all_is_reached_by_keys(void **state)
{
    (void)state;
    webdriver_press(&lab.browser, "?");
    await("document.querySelector('#help-dialog').open");
    close_dialog();
    webdriver_press_until(&lab.browser, "g", "document.activeElement.matches('#map .gpu')");
    webdriver_press(&lab.browser, "\\uE014"); /* arrow right */
    await("document.activeElement.dataset.gpu === '1'");
    webdriver_press(&lab.browser, "\\uE007"); /* Enter */
    await("document.querySelector('#gpu-dialog').open && "
          "document.querySelector('#gpu-dialog').contains(document.activeElement)");
    close_dialog();
    assert_true(is("document.activeElement.dataset.gpu === '1'"));
    webdriver_press(&lab.browser, "/");
    await("document.activeElement.id === 'filter-text'");
    assert_true(is("[...document.querySelectorAll('button, input, textarea, canvas, a')].every(one => "
                   "one.textContent.trim() || one.getAttribute('aria-label') || (one.labels && one.labels.length))"));
}

/* WCAG 2's contrast of text with what is behind it. */
static const char contrast[] =
    "const rgb = c => { const x = document.createElement('canvas').getContext('2d'); x.fillStyle = c; x.fillRect(0, 0, "
    "1, 1); return [...x.getImageData(0, 0, 1, 1).data]; };"
    "const light = c => rgb(c).slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) "
    "** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);"
    "const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();"
    "const ratio = (a, b) => { const [x, y] = [light(css(a)), light(css(b))].sort((p, q) => q - p); return (x + 0.05) "
    "/ (y "
    "+ 0.05); };"
    "const bad = [];"
    "for (const ink of ['--ink', '--ink-2', '--good', '--bad', '--warn']) for (const paper of ['--surface', '--paper', "
    "'--raised']) if (ratio(ink, paper) < 4.5) bad.push(`${ink} on ${paper}: ${ratio(ink, paper).toFixed(2)}`);"
    "for (let hue = 0; hue < 8; hue++) if (ratio(`--hue-${hue}`, '--surface') < 3) bad.push(`--hue-${hue}`);"
    "if (ratio('--button', '--button-ink') < 4.5) bad.push('--button');"
    "return bad.join(', ')";

static void text_stands_out_in_both_themes_and_nothing_is_cut_off_at_320_pixels(void **state)
{
    static const char *const schemes[] = {"light", "dark"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char expression[128];
        webdriver_screen(&lab.browser, 320, 640, schemes[i]);
        snprintf(expression, sizeof expression, "document.documentElement.dataset.theme === '%s' && innerWidth === 320",
                 schemes[i]);
        await(expression);
        assert_true(is("document.documentElement.scrollWidth <= 320"));
        cJSON *bad = webdriver_run(&lab.browser, contrast);
        assert_string_equal(cJSON_GetStringValue(bad), "");
        cJSON_Delete(bad);
    }
    assert_true(is("getComputedStyle(document.documentElement).colorScheme === 'dark'"));
    webdriver_click(&lab.browser, "#theme"); /* from "as the system has it" to light */
    await("document.documentElement.dataset.theme === 'light'");
    webdriver_click(&lab.browser, "#submit-open");
    await("document.querySelector('#submit-dialog').open");
    assert_true(is("document.querySelector('#submit-dialog').getBoundingClientRect().right <= 320 && "
                   "document.querySelector('#submit-dialog .body').scrollWidth <= 320"));
    close_dialog();
    open_job("queue", "e2e-waits");
    assert_true(is("document.querySelector('#whatif-form').getBoundingClientRect().right <= 320 && "
                   "document.querySelector('#job-dialog .body').scrollWidth <= 320"));
    assert_true(is("document.querySelector('#job-dialog').getBoundingClientRect().bottom <= innerHeight && "
                   "document.querySelector('#job-dialog').scrollHeight <= innerHeight"));
    close_dialog();
}

/* Requests that fail while the service is away, asks for a token or refuses a form are the browser's to mention. */
static void the_browser_has_nothing_to_complain_about(void **state)
{
    (void)state;
    cJSON *kind = cJSON_Parse("{\"type\":\"browser\"}");
    cJSON *log = webdriver_call(&lab.browser, "POST", "/se/log", kind);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, log)
    {
        const char *level = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "level"));
        const char *source = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "source"));
        const char *message = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "message"));
        const bool expected = strcmp(source, "network") == 0 &&
                              (strstr(message, "net::ERR_") || strstr(message, " 401 ") || strstr(message, " 400 "));
        if (!expected && (strcmp(level, "SEVERE") == 0 || strcmp(level, "WARNING") == 0))
            fail_msg("%s: %s", level, message);
    }
    cJSON_Delete(log);
    cJSON_Delete(kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_asks_for_a_token_and_then_is_live),
        cmocka_unit_test(a_job_of_the_form_runs_and_completes),
        cmocka_unit_test(the_job_that_ended_last_comes_first_and_has_its_timeline),
        cmocka_unit_test(a_gpu_has_the_jobs_that_ran_on_it),
        cmocka_unit_test(a_user_who_is_chosen_has_only_that_users_jobs_shown),
        cmocka_unit_test(a_form_with_a_mistake_says_what_is_wrong),
        cmocka_unit_test(a_job_that_waits_says_why_and_until_when),
        cmocka_unit_test(a_job_that_waits_says_who_is_in_its_way),
        cmocka_unit_test(a_job_that_waits_is_asked_what_if),
        cmocka_unit_test(a_policy_that_shadows_has_its_score_on_the_page),
        cmocka_unit_test(a_twin_has_ranges_in_its_own_time_and_a_drained_gpu_says_how_to_try_it),
        cmocka_unit_test(a_running_job_is_cancelled_by_two_clicks),
        cmocka_unit_test(members_of_an_array_go_by_it_and_their_index),
        cmocka_unit_test(the_page_comes_back_after_the_service_was_killed),
        cmocka_unit_test(all_is_reached_by_keys),
        cmocka_unit_test(text_stands_out_in_both_themes_and_nothing_is_cut_off_at_320_pixels),
        cmocka_unit_test(the_browser_has_nothing_to_complain_about),
    };
    if (!webdriver_there()) {
        puts("skipped: there is no chromium with its chromedriver");
        return 77; /* ctest shows it as skipped */
    }
    return cmocka_run_group_tests(tests, open_lab, close_lab);
}
