/* adlro top in a terminal, as a person uses it: what the screen shows, keys, other sizes, a service that goes away. */
#include "service_double.h"
#include "terminal.h"

#define UP        "\033OA"
#define DOWN      "\033OB"
#define HOME      "\033OH"
#define END       "\033OF"
#define PAGE_UP   "\033[5~"
#define PAGE_DOWN "\033[6~"

static struct service_double *service;
static struct terminal terminal;

static int open_service(void **state)
{
    (void)state;
    service = double_open();
    service->ends_after = 1 << 30; /* job 5 runs on */
    return 0;
}

static int close_service(void **state)
{
    (void)state;
    double_close(service);
    return 0;
}

static void start_top(const char *kind, int rows, int columns)
{
    terminal_start(&terminal, kind, rows, columns, (const char *const[]){ADL_PROGRAM, "top", "-n", "0.2", NULL});
}

static void quit_top(void)
{
    terminal_type(&terminal, "q");
    assert_int_equal(terminal_end(&terminal), 0);
}

static void the_screen_shows_the_cluster_its_gpus_and_its_jobs(void **state)
{
    (void)state;
    start_top("xterm-256color", 30, 120);
    terminal_wait_row(&terminal, 0, "easy");
    terminal_wait_row(&terminal, 1, "2/40 busy   jobs 2 running, 36 pending   power 412 W   energy 2.000 kWh");
    terminal_wait_text(&terminal, "53%");
    terminal_wait_text(&terminal, "206/300W");
    terminal_wait_text(&terminal, "91C");
    terminal_wait_text(&terminal, "drained");
    terminal_wait_text(&terminal, "2 GPUs of type v100 are not free");
    terminal_wait_row(&terminal, 29, "q quit");
    quit_top();
}

static void it_opens_on_what_is_busy_and_sorts_by_other_things(void **state)
{
    (void)state;
    start_top("xterm-256color", 30, 140);
    terminal_wait_row(&terminal, 3, "JOBS  busy first");
    terminal_wait_row(&terminal, 4, "busy");
    terminal_wait_row(&terminal, 5, "busy");
    terminal_wait_row(&terminal, 3, "MEM/GiB");
    terminal_type(&terminal, "s");
    terminal_wait_row(&terminal, 3, "JOBS  by number");
    terminal_wait_row(&terminal, 4, "  0 ");
    terminal_type(&terminal, "s");
    terminal_wait_row(&terminal, 3, "JOBS  by memory");
    terminal_type(&terminal, "s");
    terminal_wait_row(&terminal, 3, "JOBS  by power");
    terminal_type(&terminal, "s");
    terminal_wait_row(&terminal, 3, "JOBS  by temperature");
    terminal_wait_row(&terminal, 4, "91C");
    terminal_type(&terminal, "s");
    terminal_wait_row(&terminal, 3, "JOBS  busy first");
    quit_top();
}

static void a_filter_leaves_the_lines_that_have_it(void **state)
{
    (void)state;
    start_top("xterm-256color", 30, 140);
    terminal_wait_text(&terminal, "2 GPUs of type v100 are not free");
    terminal_wait_row(&terminal, 5, "busy");
    terminal_type(&terminal, "/dra");
    terminal_wait_text(&terminal, "filter: dra_");
    terminal_type(&terminal, "ined\r");
    terminal_wait_row(&terminal, 2, "only lines with 'drained'");
    terminal_wait_row(&terminal, 4, "drained");
    terminal_wait_row(&terminal, 29, "q quit");
    terminal_type(&terminal, "/");
    terminal_type(&terminal, "nothing-has-this\r");
    terminal_wait_row(&terminal, 2, "only lines with 'nothing-has-this'");
    terminal_wait_row(&terminal, 4, "");
    terminal_type(&terminal, "/");
    terminal_type(&terminal, "\033");
    terminal_wait_row(&terminal, 5, "busy");
    quit_top();
}

/* Without colours, and with other sequences. */
static void a_plain_terminal_shows_the_same(void **state)
{
    (void)state;
    start_top("vt100", 30, 120);
    terminal_wait_row(&terminal, 1, "2/40 busy   jobs 2 running, 36 pending");
    terminal_wait_marked(&terminal, " 1 ");
    terminal_wait_row(&terminal, 29, "q quit");
    quit_top();
}

static void the_cursor_moves_by_lines_and_pages_in_the_pane_that_has_it(void **state)
{
    (void)state;
    start_top("xterm", 40, 120);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, DOWN);
    terminal_wait_marked(&terminal, "   5 "); /* the other one that runs */
    terminal_type(&terminal, "j");
    terminal_wait_marked(&terminal, "   2 ");
    terminal_type(&terminal, UP "k");
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, PAGE_DOWN);
    terminal_wait_marked(&terminal, "  14 ");
    terminal_type(&terminal, PAGE_DOWN PAGE_UP PAGE_UP UP);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, END);
    terminal_wait_marked(&terminal, "  20 "); /* the last of the double's page */
    terminal_type(&terminal, HOME);
    terminal_wait_marked(&terminal, "   1 ");

    terminal_type(&terminal, "\t" DOWN);
    terminal_wait_marked(&terminal, "  1 box");
    terminal_type(&terminal, END);
    terminal_wait_marked(&terminal, " 39 box");
    terminal_type(&terminal, "2");
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, "1");
    terminal_wait_marked(&terminal, " 39 box");
    quit_top();
}

static void a_job_is_cancelled_only_after_a_yes(void **state)
{
    (void)state;
    start_top("xterm", 40, 120);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, "c");
    terminal_wait_text(&terminal, "cancel job 1? y/n");
    terminal_type(&terminal, "n");
    terminal_wait_text(&terminal, "q quit");
    terminal_type(&terminal, "c");
    terminal_wait_text(&terminal, "cancel job 1? y/n");
    terminal_type(&terminal, "q"); /* is a no, and not the end */
    terminal_wait_text(&terminal, "q quit");
    assert_string_equal(service->last, "");
    terminal_type(&terminal, "cy");
    terminal_wait_text(&terminal, "job 1 cancelled");
    assert_string_equal(service->last, "cancel 1 ");
    quit_top();
}

static void a_job_is_held_and_released_and_refusals_are_told(void **state)
{
    (void)state;
    start_top("xterm", 40, 120);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, "jj");
    terminal_wait_marked(&terminal, "   2 ");
    terminal_type(&terminal, "h");
    terminal_wait_text(&terminal, "job 2 held");
    assert_string_equal(service->last, "hold 2 ");
    terminal_type(&terminal, "r");
    terminal_wait_text(&terminal, "job 2 released");
    assert_string_equal(service->last, "release 2 ");
    service->refuses = "it is not yours";
    terminal_type(&terminal, "h");
    terminal_wait_text(&terminal, "it is not yours");
    terminal_type(&terminal, "1h");
    terminal_wait_text(&terminal, "choose a job first");
    assert_string_equal(service->last, "release 2 ");
    quit_top();
}

/* Job 1 ends: all rows below it move up. */
static void the_cursor_stays_on_its_job_when_the_list_shifts(void **state)
{
    (void)state;
    start_top("xterm", 40, 120);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, "jj");
    terminal_wait_marked(&terminal, "   2 ");
    service->state_of_1 = "CD";
    terminal_wait_no_text(&terminal, "    1 train");
    terminal_wait_marked(&terminal, "   2 ");
    terminal_type(&terminal, "h");
    terminal_wait_text(&terminal, "job 2 held");
    assert_string_equal(service->last, "hold 2 ");
    service->state_of_1 = "R";
    terminal_wait_text(&terminal, "    1 train");
    terminal_wait_marked(&terminal, "   2 ");
    terminal_type(&terminal, "r");
    terminal_wait_text(&terminal, "job 2 released");
    quit_top();
}

static void a_question_is_about_its_job_when_the_list_shifts(void **state)
{
    (void)state;
    start_top("xterm", 40, 120);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, "c");
    terminal_wait_text(&terminal, "cancel job 1? y/n");
    service->state_of_1 = "PD"; /* behind job 5 now */
    terminal_wait_marked(&terminal, " PD ");
    terminal_wait_marked(&terminal, "   1 ");
    terminal_wait_text(&terminal, "cancel job 1? y/n");
    terminal_type(&terminal, "y");
    terminal_wait_text(&terminal, "job 1 cancelled");
    assert_string_equal(service->last, "cancel 1 ");
    quit_top();
}

static void a_question_about_a_job_that_left_is_dismissed(void **state)
{
    (void)state;
    start_top("xterm", 40, 120);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, "c");
    terminal_wait_text(&terminal, "cancel job 1? y/n");
    service->state_of_1 = "CD";
    terminal_wait_text(&terminal, "job 1 has left the list; nothing was cancelled");
    terminal_wait_marked(&terminal, "   5 ");
    terminal_type(&terminal, "y");
    terminal_wait_text(&terminal, "q quit");
    assert_string_equal(service->last, "");
    quit_top();
}

/* Job 5 and the one before it leave at once: the next job is in the first row then. */
static void the_cursor_of_a_job_that_left_goes_to_the_next_job(void **state)
{
    (void)state;
    start_top("xterm", 40, 120);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, "j");
    terminal_wait_marked(&terminal, "   5 ");
    service->state_of_1 = "CD";
    service->ends_after = -1;
    terminal_wait_no_text(&terminal, "    1 train");
    terminal_wait_no_text(&terminal, "    5 train");
    terminal_wait_marked(&terminal, "   2 ");
    quit_top();
}

static void another_size_leaves_the_question(void **state)
{
    (void)state;
    start_top("xterm", 24, 120);
    terminal_wait_marked(&terminal, "   1 ");
    terminal_type(&terminal, "c");
    terminal_wait_row(&terminal, 23, "cancel job 1? y/n");
    terminal_resize(&terminal, 45, 150);
    terminal_wait_row(&terminal, 44, "cancel job 1? y/n");
    terminal_type(&terminal, "y");
    terminal_wait_text(&terminal, "job 1 cancelled");
    assert_string_equal(service->last, "cancel 1 ");
    quit_top();
}

static void another_size_is_filled_at_once(void **state)
{
    (void)state;
    start_top("xterm", 24, 80);
    terminal_wait_row(&terminal, 23, "q quit");
    terminal_resize(&terminal, 45, 150);
    terminal_wait_row(&terminal, 44, "q quit");
    terminal_wait_text(&terminal, "206/300W");
    terminal_resize(&terminal, 12, 60);
    terminal_wait_row(&terminal, 11, "q quit");
    quit_top();
}

static void a_terminal_that_is_too_small_shows_what_fits(void **state)
{
    (void)state;
    start_top("xterm", 3, 12);
    terminal_wait_row(&terminal, 1, "GPUs [|");
    terminal_type(&terminal, DOWN "\t" DOWN END "c");
    terminal_resize(&terminal, 1, 5);
    terminal_wait_row(&terminal, 0, "adlro");
    terminal_resize(&terminal, 24, 80);
    terminal_wait_row(&terminal, 1, "2/40 busy");
    terminal_wait_marked(&terminal, " 39 box");
    quit_top();
}

static void a_service_that_is_gone_leaves_its_last_frame_and_is_found_again(void **state)
{
    (void)state;
    start_top("xterm-256color", 24, 120);
    terminal_wait_row(&terminal, 1, "2/40 busy");
    double_stop(service);
    terminal_wait_row(&terminal, 2, "reconnecting: ");
    terminal_wait_row(&terminal, 1, "2/40 busy");
    terminal_type(&terminal, "h");
    terminal_wait_row(&terminal, 23, service->fixture->socket);
    double_start(service);
    terminal_wait_no_text(&terminal, "reconnecting: ");
    terminal_type(&terminal, "h");
    terminal_wait_row(&terminal, 23, "job 1 held");
    quit_top();
}

static void a_service_that_is_not_there_is_waited_for(void **state)
{
    (void)state;
    double_stop(service);
    start_top("xterm", 24, 120);
    terminal_wait_row(&terminal, 2, "reconnecting: ");
    terminal_wait_row(&terminal, 1, "0/0 busy");
    double_start(service);
    terminal_wait_row(&terminal, 1, "2/40 busy");
    quit_top();
}

static void a_terminal_of_an_unknown_kind_is_refused_with_the_remedy(void **state)
{
    (void)state;
    start_top("no-such-terminal", 24, 200);
    terminal_wait_text(&terminal, "the terminal type 'no-such-terminal' is unknown");
    terminal_wait_text(&terminal, "TERM=xterm");
    terminal_wait_text(&terminal, "--once prints a frame as text");
    terminal_wait_no_text(&terminal, "not a terminal");
    assert_int_equal(terminal_end(&terminal), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_service, close_service)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_screen_shows_the_cluster_its_gpus_and_its_jobs),
        TEST(it_opens_on_what_is_busy_and_sorts_by_other_things),
        TEST(a_filter_leaves_the_lines_that_have_it),
        TEST(a_plain_terminal_shows_the_same),
        TEST(the_cursor_moves_by_lines_and_pages_in_the_pane_that_has_it),
        TEST(a_job_is_cancelled_only_after_a_yes),
        TEST(a_job_is_held_and_released_and_refusals_are_told),
        TEST(the_cursor_stays_on_its_job_when_the_list_shifts),
        TEST(a_question_is_about_its_job_when_the_list_shifts),
        TEST(a_question_about_a_job_that_left_is_dismissed),
        TEST(the_cursor_of_a_job_that_left_goes_to_the_next_job),
        TEST(another_size_leaves_the_question),
        TEST(another_size_is_filled_at_once),
        TEST(a_terminal_that_is_too_small_shows_what_fits),
        TEST(a_service_that_is_gone_leaves_its_last_frame_and_is_found_again),
        TEST(a_service_that_is_not_there_is_waited_for),
        TEST(a_terminal_of_an_unknown_kind_is_refused_with_the_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
