/* top: a live view of the service in the terminal. The only file that uses curses. */
#include "cli/cli.h"
#include "cli/client/client.h"
#include "cli/client/jobs_table.h"
#include "cli/client/top_frame.h"
#include "cli/display.h"

#define NCURSES_NOMACROS
#include <cjson/cJSON.h>
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
    struct adl_client_options client;
    bool once;
    double interval_s;
};

static const struct adl_option table[] = {
    ADL_ROW_FLAG(struct options, once, "once", 0, "print one complete frame as plain text and exit"),
    {"interval", 'n', ADL_OPTION_REAL, offsetof(struct options, interval_s), 0.2, 3600, NULL, "SECONDS",
     "seconds between updates"},
    ADL_CLIENT_ROWS(struct options),
};

static const struct adl_verb verb = {
    .name = "top",
    .summary = "Shows the cluster live in the terminal: GPUs with load, power and temperature, who runs there, and "
               "the queue with reasons.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .example = "adlro top\nadlro top --once",
};

#define PENDING_MAX  200 /* pending jobs that are listed */
#define CALL_US      3000000
#define MESSAGE_SIZE 500

struct top {
    struct adl_client *client;
    cJSON *cluster;
    cJSON *jobs; /* running, then pending */
    char trouble[MESSAGE_SIZE];
    char prompt[MESSAGE_SIZE];
    char asking[ADL_JOB_LABEL_SIZE]; /* job whose cancellation is to be confirmed; "" = none */
    char filter[64];                 /* what lines have to have */
    bool typing;                     /* it is being typed */
    struct adl_top_history history;
    bool jumped; /* the job under the cursor left the list, and no frame shows it yet */
    struct adl_top_view view;
};

/* ---- data ---- */

static void clear_data(struct top *top)
{
    cJSON_Delete(top->cluster);
    cJSON_Delete(top->jobs);
    top->cluster = top->jobs = NULL;
}

static void move_all(cJSON *to, cJSON *answer)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(answer, "jobs");
    while (list && list->child)
        cJSON_AddItemToArray(to, cJSON_DetachItemViaPointer(list, list->child));
}

static void say(struct top *top, const char *text)
{
    snprintf(top->prompt, sizeof top->prompt, "%s", text);
}

/* -1: it is not among them. */
static int row_of(const cJSON *jobs, const char *label)
{
    const cJSON *job;
    char other[ADL_JOB_LABEL_SIZE];
    int row = 0;
    cJSON_ArrayForEach(job, jobs)
    {
        if (strcmp(adl_job_label(job, other), label) == 0)
            return row;
        row++;
    }
    return -1;
}

/* The row in fresh of the first job from row of old on, by steps of 1 or -1, that is in both; -1: there is none. */
static int find_neighbour(const cJSON *old, int row, int step, const cJSON *fresh)
{
    char label[ADL_JOB_LABEL_SIZE];
    int found = -1;
    for (; found < 0 && row >= 0 && row < cJSON_GetArraySize(old); row += step)
        found = row_of(fresh, adl_job_label(cJSON_GetArrayItem(old, row), label));
    return found;
}

/* The cursor stays on its job. If the job has left, it goes to the next one, at the end of the list to the one before.
 */
static void follow_job(struct top *top, const cJSON *fresh)
{
    int *cursor = &top->view.cursor[ADL_PANE_JOBS];
    const int count = cJSON_GetArraySize(top->jobs), row = *cursor < count ? *cursor : count - 1;
    char label[ADL_JOB_LABEL_SIZE];
    if (row < 0)
        return;
    top->jumped = top->jumped || row_of(fresh, adl_job_label(cJSON_GetArrayItem(top->jobs, row), label)) < 0;
    const int next = find_neighbour(top->jobs, row, 1, fresh);
    *cursor = next >= 0 ? next : find_neighbour(top->jobs, row, -1, fresh);
}

static void dismiss_question(struct top *top, const cJSON *fresh)
{
    char text[MESSAGE_SIZE];
    if (top->asking[0] == '\0' || row_of(fresh, top->asking) >= 0)
        return;
    snprintf(text, sizeof text, "job %s has left the list; nothing was cancelled", top->asking);
    say(top, text);
    top->asking[0] = '\0';
}

/* Without those that the filter hides. */
static void drop_hidden(cJSON *jobs, const char *filter)
{
    for (cJSON *job = jobs->child, *next; job; job = next) {
        next = job->next;
        if (!adl_top_job_matches(job, filter))
            cJSON_Delete(cJSON_DetachItemViaPointer(jobs, job));
    }
}

static void take_data(struct top *top, cJSON *cluster, cJSON *running, cJSON *pending)
{
    cJSON *jobs = cJSON_CreateArray();
    move_all(jobs, running);
    move_all(jobs, pending);
    drop_hidden(jobs, top->filter);
    adl_top_history_add(&top->history, cluster);
    follow_job(top, jobs);
    dismiss_question(top, jobs);
    clear_data(top);
    top->cluster = cluster;
    top->jobs = jobs;
    top->trouble[0] = '\0';
}

/* On failure keeps the old data, and trouble says why. */
static int fetch_data(struct top *top)
{
    cJSON *cluster = NULL, *running = NULL, *pending = NULL;
    char path[64];
    struct adl_error err;
    snprintf(path, sizeof path, "/v1/jobs?state=PD&limit=%d", PENDING_MAX);
    int status = adl_client_get(top->client, "/v1/cluster", &cluster, &err);
    if (status == 0)
        status = adl_client_get(top->client, "/v1/jobs?state=R&limit=1000", &running, &err);
    if (status == 0)
        status = adl_client_get(top->client, path, &pending, &err);
    if (status) {
        snprintf(top->trouble, sizeof top->trouble, "reconnecting: %s", err.text);
        cJSON_Delete(cluster);
    } else {
        take_data(top, cluster, running, pending);
    }
    cJSON_Delete(running);
    cJSON_Delete(pending);
    top->view.cluster = top->cluster;
    top->view.jobs = top->jobs;
    top->view.trouble = top->trouble[0] ? top->trouble : NULL;
    return status;
}

/* ---- keys ---- */

static const cJSON *chosen_job(const struct top *top)
{
    return top->view.pane == ADL_PANE_JOBS ? cJSON_GetArrayItem(top->jobs, top->view.cursor[ADL_PANE_JOBS]) : NULL;
}

static void act(struct top *top, const char *label, const char *method, const char *suffix, const char *done)
{
    char path[ADL_JOB_LABEL_SIZE + 64], text[MESSAGE_SIZE];
    struct adl_error err;
    snprintf(path, sizeof path, "/v1/jobs/%s%s", label, suffix);
    if (adl_client_call(top->client, method, path, NULL, NULL, &err))
        snprintf(text, sizeof text, "%s", err.text);
    else
        snprintf(text, sizeof text, "job %s %s", label, done);
    say(top, text);
    fetch_data(top);
}

static void press_on_job(struct top *top, int key)
{
    const cJSON *job = chosen_job(top);
    char label[ADL_JOB_LABEL_SIZE], text[MESSAGE_SIZE];
    if (!job) {
        say(top, "choose a job first: tab, then the arrows");
        return;
    }
    adl_job_label(job, label);
    if (key == 'c') {
        memcpy(top->asking, label, sizeof label);
        snprintf(text, sizeof text, "cancel job %s? y/n", label);
        say(top, text);
    } else {
        act(top, label, "POST", key == 'h' ? "/hold" : "/release", key == 'h' ? "held" : "released");
    }
}

/* A letter of the filter; return ends it, escape removes it. */
static void type_filter(struct top *top, int key)
{
    const size_t length = strlen(top->filter);
    if (key == 27)
        top->filter[0] = '\0';
    else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length > 0)
        top->filter[length - 1] = '\0';
    else if (key >= ' ' && key < 127 && length + 1 < sizeof top->filter)
        memcpy(top->filter + length, (char[]){(char)key, '\0'}, 2);
    top->typing = key != 27 && key != '\n' && key != '\r' && key != KEY_ENTER;
    fetch_data(top);
    top->jumped = false; /* that jobs leave the list is what was asked for */
    if (top->typing)
        snprintf(top->prompt, sizeof top->prompt, "filter: %s_  (return keeps it, escape removes it)", top->filter);
}

/* False: the user wants to quit. */
static bool press(struct top *top, int key)
{
    if (top->typing) {
        top->prompt[0] = '\0';
        type_filter(top, key);
        return true;
    }
    int *cursor = &top->view.cursor[top->view.pane];
    char asked[ADL_JOB_LABEL_SIZE];
    memcpy(asked, top->asking, sizeof asked);
    top->prompt[0] = '\0';
    top->asking[0] = '\0';
    if (asked[0] != '\0') {
        if (key == 'y' || key == 'Y')
            act(top, asked, "DELETE", "", "cancelled");
        return true;
    }
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case '\t':
        top->view.pane = (top->view.pane + 1) % ADL_PANE_COUNT;
        break;
    case '1':
    case '2':
        top->view.pane = key == '1' ? ADL_PANE_GPUS : ADL_PANE_JOBS;
        break;
    case KEY_UP:
    case 'k':
        *cursor -= *cursor > 0;
        break;
    case KEY_DOWN:
    case 'j':
        (*cursor)++; /* the frame clamps it */
        break;
    case KEY_PPAGE:
        *cursor = *cursor > 10 ? *cursor - 10 : 0;
        break;
    case KEY_NPAGE:
        *cursor += 10;
        break;
    case KEY_HOME:
        *cursor = 0;
        break;
    case KEY_END:
        *cursor = 1 << 20;
        break;
    case 's':
        top->view.sort = (top->view.sort + 1) % ADL_TOP_SORTS;
        break;
    case '/':
        top->typing = true;
        say(top, "filter: _  (return keeps it, escape removes it)");
        top->filter[0] = '\0';
        break;
    case 'c':
    case 'h':
    case 'r':
        press_on_job(top, key);
        break;
    default:
        break;
    }
    return true;
}

/* ---- screen ---- */

static chtype attributes_of(int tone, bool colour)
{
    switch (tone) {
    case ADL_TONE_TITLE:
        return A_BOLD;
    case ADL_TONE_DIM:
        return A_DIM;
    case ADL_TONE_CURSOR:
        return A_REVERSE;
    case ADL_TONE_BAD:
        return colour ? A_BOLD : A_STANDOUT;
    default:
        return A_NORMAL;
    }
}

static short pair_of(int tone, bool colour)
{
    if (!colour)
        return 0;
    return tone == ADL_TONE_GOOD ? 1 : tone == ADL_TONE_WARN ? 2 : tone == ADL_TONE_BAD ? 3 : 0;
}

static void draw(struct top *top)
{
    struct adl_frame frame;
    const bool colour = has_colors();
    top->view.rows = getmaxy(stdscr);
    top->view.columns = getmaxx(stdscr);
    top->view.prompt = top->prompt[0] ? top->prompt : NULL;
    adl_top_frame(&top->view, &frame);
    erase();
    int row = 0;
    for (const char *line = frame.text.data; line && *line && row < getmaxy(stdscr); row++) {
        const size_t length = strcspn(line, "\n");
        mvaddnstr(row, 0, line, (int)length);
        line += length + 1;
    }
    for (int i = 0; i < frame.span_count; i++) {
        const struct adl_frame_span *span = &frame.spans[i];
        if (span->row < getmaxy(stdscr) && span->column < getmaxx(stdscr))
            mvchgat(span->row, span->column, span->length, attributes_of(span->tone, colour),
                    pair_of(span->tone, colour), NULL);
    }
    if (top->jumped)
        flushinp(); /* keys that were pressed for the job that left */
    top->jumped = false;
    refresh();
    adl_frame_clear(&frame);
}

static int begin_screen(SCREEN **ret, struct adl_error *err)
{
    const char *type = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return adl_fail(err, ADL_EIO, "standard input or output is not a terminal; --once prints a frame as text");
    setlocale(LC_CTYPE, "");
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return adl_fail(err, ADL_EIO,
                        "TERM: the terminal type '%.60s' is unknown; set one that this system knows, for example "
                        "TERM=xterm; --once prints a frame as text",
                        type ? type : "");
    set_term(screen);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    if (has_colors()) {
        start_color();
        use_default_colors();
        init_pair(1, COLOR_GREEN, -1);
        init_pair(2, COLOR_YELLOW, -1);
        init_pair(3, COLOR_RED, -1);
    }
    *ret = screen;
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void run_screen(struct top *top, double interval_s)
{
    const int64_t interval_ms = (int64_t)(interval_s * 1000);
    int64_t next_ms = now_ms();
    for (;;) {
        if (now_ms() >= next_ms) {
            fetch_data(top);
            next_ms = now_ms() + interval_ms;
        }
        draw(top);
        const int64_t left_ms = next_ms - now_ms();
        timeout(left_ms < 0 ? 0 : (int)left_ms);
        const int key = getch();
        if (key != ERR && key != KEY_RESIZE && !press(top, key))
            return;
    }
}

static int print_once(struct top *top, struct adl_error *err)
{
    struct adl_frame frame;
    const size_t columns = adl_display_columns();
    int status = fetch_data(top);
    if (status)
        return adl_fail(err, status, "%s", top->trouble + strlen("reconnecting: "));
    top->view.columns = columns == ADL_DISPLAY_ALL ? 120 : (int)columns;
    adl_top_frame(&top->view, &frame);
    status = adl_output_write("-", &frame.text, err);
    adl_frame_clear(&frame);
    return status;
}

static int run(int argc, char **argv)
{
    struct options o = {.interval_s = 1};
    struct top top = {.view = {.pane = ADL_PANE_JOBS}};
    top.view.filter = top.filter;
    struct adl_operands operands;
    struct adl_error err;
    SCREEN *screen = NULL;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &o, &operands, &code))
        return code;
    int status = adl_client_create(&o.client, &top.client, &err);
    if (status == 0 && o.once) {
        status = print_once(&top, &err);
    } else if (status == 0) {
        adl_client_set_timeout(top.client, CALL_US);
        status = begin_screen(&screen, &err);
        top.view.history = &top.history;
        top.view.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
        if (status == 0) {
            run_screen(&top, o.interval_s);
            endwin();
            delscreen(screen);
        }
    }
    clear_data(&top);
    adl_top_history_clear(&top.history);
    adl_client_destroy(top.client);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

const struct adl_command_verb adl_verb_top = {&verb, run};
