/* The #SBATCH lines of batch scripts: what is read, what is warned about, and what is refused in which line. */
#include "cli/client/sbatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct adl_sbatch read(const char *script)
{
    struct adl_sbatch sbatch;
    struct adl_error err;
    if (adl_sbatch_read(script, strlen(script), "job.sh", &sbatch, &err))
        fail_msg("%s", err.text);
    return sbatch;
}

/* Reads one line of options. */
static struct adl_sbatch read_line(const char *options)
{
    char script[512];
    snprintf(script, sizeof script, "#!/bin/sh\n#SBATCH %s\ntrue\n", options);
    return read(script);
}

static void a_typical_script_is_read(void **state)
{
    (void)state;
    struct adl_sbatch s = read("#!/bin/bash\n"
                               "#SBATCH --job-name=train\n"
                               "#SBATCH -o logs/%x-%j.out   # where it goes\n"
                               "# a comment\n"
                               "#SBATCH --error=logs/%j.err --time=1-12:30:00\n"
                               "\n"
                               "#SBATCH -c 8 --mem=64G\n"
                               "#SBATCH --gres=gpu:v100:2\n"
                               "#SBATCH --nodes=1 --ntasks 1\n"
                               "#SBATCH --dependency=afterok:12:13,afterany:7\n"
                               "#SBATCH --array=0-9%4 --requeue -H -p gpu\n"
                               "#SBATCH --begin=now+1hour --signal=B:USR1@120\n"
                               "#SBATCH --chdir /data/run --export=ALL,SEED=1\n"
                               "srun python train.py\n"
                               "#SBATCH --job-name=late\n");
    assert_string_equal(s.form.name, "train");
    assert_string_equal(s.form.output, "logs/%x-%j.out");
    assert_string_equal(s.form.error, "logs/%j.err");
    assert_int_equal(s.time_s, 86400 + 12 * 3600 + 30 * 60);
    assert_int_equal(s.cpus, 8);
    assert_int_equal(s.mem_mib, 65536);
    assert_string_equal(s.form.gpus, "v100:2");
    assert_string_equal(s.form.dependency, "afterok:12:13,afterany:7");
    assert_string_equal(s.form.array, "0-9%4");
    assert_string_equal(s.form.begin, "now+1hour");
    assert_string_equal(s.form.signal, "B:USR1@120");
    assert_true(s.form.requeue && !s.no_requeue);
    assert_true(s.checkpoint_s == 0 && !s.form.checkpoint_on_stop);
    assert_true(s.form.hold);
    assert_string_equal(s.form.chdir, "/data/run");
    assert_string_equal(s.form.exported, "ALL,SEED=1");
    assert_non_null(strstr(s.warnings.data, "job.sh:11: #SBATCH --partition means nothing")); /* and nothing else: */
    assert_ptr_equal(strchr(s.warnings.data, '\n') + 1, s.warnings.data + s.warnings.size);
    adl_sbatch_clear(&s);
}

static void a_script_says_how_its_work_is_saved(void **state)
{
    (void)state;
    static const char *const every[] = {"#SBATCH --checkpoint=10\n", "#SBATCH --checkpoint-every=10m\n",
                                        "#SBATCH --checkpoint-every 600s\n"};
    for (size_t i = 0; i < COUNT(every); i++) {
        struct adl_sbatch s = read(every[i]);
        assert_int_equal(s.checkpoint_s, 600);
        adl_sbatch_clear(&s);
    }
    struct adl_sbatch s = read("#SBATCH --checkpoint-on-stop\n");
    assert_true(s.form.checkpoint_on_stop && s.checkpoint_s == 0);
    adl_sbatch_clear(&s);
}

static void a_script_without_such_lines_asks_for_nothing(void **state)
{
    static const char *const scripts[] = {"",
                                          "#!/bin/sh\n",
                                          "#!/bin/sh\necho\n#SBATCH -J x\n",
                                          "##SBATCH -J x\n",
                                          "# SBATCH -J x\n",
                                          " #SBATCH -J x\n",
                                          "#SBATCHX -J x\n",
                                          "#SBATCH\n",
                                          "#SBATCH # -J x\n",
                                          "#SBATCH"};
    (void)state;
    for (size_t i = 0; i < COUNT(scripts); i++) {
        struct adl_sbatch s = read(scripts[i]);
        assert_null(s.form.name);
        assert_null(s.form.gpus);
        assert_int_equal(s.time_s, 0);
        assert_false(s.form.hold);
        assert_false(s.form.requeue || s.no_requeue);
        assert_int_equal(s.warnings.size, 0);
        adl_sbatch_clear(&s);
    }
}

static void reading_stops_at_the_first_command_and_not_before(void **state)
{
    (void)state;
    struct adl_sbatch s = read("#!/bin/sh\n  \t\n\r\n   # far in\n#SBATCH -J a\n\techo\n#SBATCH -J b\n");
    assert_string_equal(s.form.name, "a");
    adl_sbatch_clear(&s);
    s = read("#!/bin/sh\r\n#SBATCH -J a\r\n#SBATCH -J b"); /* no line feed at the end; the later counts */
    assert_string_equal(s.form.name, "b");
    adl_sbatch_clear(&s);
}

static void quotes_and_backslashes_work_as_in_slurm(void **state)
{
    static const struct {
        const char *line;
        const char *name;
    } lines[] = {
        {"-J \"two words\"", "two words"},
        {"--job-name='it # is'", "it # is"},
        {"-J a\\ b", "a b"},
        {"-J\"a\"'b'c", "abc"},
        {"-J 'a\\b'", "a\\b"},
        {"-J \"a\\\"b\"", "a\"b"},
        {"-J a#b", "a#b"},
        {"\"-J\" x", "x"},
        {"-Jx", "x"},
        {"\t-J\t x \t", "x"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct adl_sbatch s = read_line(lines[i].line);
        if (!s.form.name || strcmp(s.form.name, lines[i].name) != 0)
            fail_msg("%s gives the name %s", lines[i].line, s.form.name ? s.form.name : "(none)");
        adl_sbatch_clear(&s);
    }
}

static void gpus_can_be_asked_for_in_all_of_slurms_ways(void **state)
{
    static const struct {
        const char *line;
        const char *gpus;
    } lines[] = {
        {"--gres=gpu", "1"},
        {"--gres=gpu:2", "2"},
        {"--gres=gpu:v100", "v100"},
        {"--gres gpu:v100:2", "v100:2"},
        {"--gres=gres/gpu:2", "2"},
        {"--gres=nvme:1,gpu:2", "2"},
        {"-G 4", "4"},
        {"-Ga100:1", "a100:1"},
        {"--gpus=v100:2|a100:1", "v100:2|a100:1"},
        {"--gpus-per-node=a100:3", "a100:3"},
        {"--gpus-per-task=2", "2"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct adl_sbatch s = read_line(lines[i].line);
        assert_non_null(s.form.gpus);
        assert_string_equal(s.form.gpus, lines[i].gpus);
        adl_sbatch_clear(&s);
    }
    struct adl_sbatch s = read_line("--gres=nvme:1,gpu:2");
    assert_non_null(strstr(s.warnings.data, "--gres 'nvme:1' means nothing here"));
    adl_sbatch_clear(&s);
}

static void the_last_of_the_memory_options_counts(void **state)
{
    (void)state;
    struct adl_sbatch s = read_line("--mem=8G --mem-per-gpu=512M");
    assert_int_equal(s.mem_mib, 0);
    assert_int_equal(s.mem_per_gpu_mib, 512);
    adl_sbatch_clear(&s);
    s = read_line("--mem-per-gpu=1G --mem-per-cpu=100");
    assert_int_equal(s.mem_per_gpu_mib, 0);
    assert_int_equal(s.mem_per_cpu_mib, 100);
    adl_sbatch_clear(&s);
    s = read_line("--mem=0");
    assert_int_equal(s.mem_mib, 0);
    assert_true(s.warnings.size > 0);
    adl_sbatch_clear(&s);
}

static void options_without_a_meaning_here_give_one_warning_each(void **state)
{
    static const char *const lines[] = {"-p gpu",
                                        "--partition=gpu",
                                        "--mail-type=END",
                                        "--mail-user me@example.org",
                                        "-A lab",
                                        "--account=lab",
                                        "--qos high",
                                        "--exclusive",
                                        "--exclusive=user",
                                        "--nice",
                                        "--nice=100",
                                        "-C a100",
                                        "--constraint='a100&nvlink'",
                                        "--time=UNLIMITED",
                                        "-v"};
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct adl_sbatch s = read_line(lines[i]);
        if (s.warnings.size == 0 || strncmp(s.warnings.data, "job.sh:2: #SBATCH --", 20) != 0)
            fail_msg("%s: no warning", lines[i]);
        assert_ptr_equal(strchr(s.warnings.data, '\n') + 1, s.warnings.data + s.warnings.size);
        adl_sbatch_clear(&s);
    }
}

static void nonsense_is_refused_with_its_line_and_what_would_be_right(void **state)
{
    static const struct {
        const char *line;
        const char *text;
    } lines[] = {
        {"--job-nmae=x", "job.sh:2: #SBATCH has no option '--job-nmae'; did you mean '--job-name'?"},
        {"--walltime=1", "has no option '--walltime'"},
        {"-z", "has no option '-z'"},
        {"train.py", "takes options only, got 'train.py'"},
        {"-J", "--job-name needs a value"},
        {"--job-name=", "--job-name needs a value"},
        {"-J # x", "--job-name needs a value"},
        {"--hold=yes", "--hold takes no value, got 'yes'"},
        {"-Hx", "--hold takes no value, got 'x'"},
        {"-J 'open", "a quote that is not closed: 'open'"},
        {"\"-J", "a quote that is not closed"},
        {"-t soon", "--time must be a time such as"},
        {"--mem=lots", "--mem must be a size such as"},
        {"-c 0", "--cpus-per-task must be between 1 and 65536"},
        {"-c 1.5", "--cpus-per-task"},
        {"-N 2", "--nodes must be 1"},
        {"--ntasks=4", "--ntasks must be 1"},
        {"--gres=gpu:", "--gres must name GPUs once"},
        {"--gres=gpu:1,gpu:2", "--gres must name GPUs once"},
        {"-d 12", "--dependency must be like afterok:1:2"},
        {"-d afterok:", "--dependency must be like afterok:1:2"},
        {"-d afterok:1:", "job ids, or singleton"},
        {"-d afterok:x", "got 'afterok:x'"},
        {"-d afterok:1,", "--dependency must be like"},
        {"-d aftercorr:1", "--dependency must be like"},
        {"-d singleton:1", "--dependency must be like"},
        {"-d after:1+5", "--dependency must be like"},
        {"-d afterok:1?afterok:2,afterok:3", "',' (all) or '?' (any)"},
        {"-b soon", "--begin must be such as 16:00"},
        {"-b 2001-01-01", "--begin must be in the future, and '2001-01-01' is past"},
        {"--signal=B:NONE@60", "--signal: must be a signal and how many seconds"},
        {"-", "takes options only"},
        {"--", "has no option '--'"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct adl_sbatch s = {.cpus = 77};
        struct adl_error err = {{0}};
        char script[200];
        snprintf(script, sizeof script, "#!/bin/sh\n#SBATCH %s\n", lines[i].line);
        if (adl_sbatch_read(script, strlen(script), "job.sh", &s, &err) != ADL_EINVAL)
            fail_msg("%s is taken", lines[i].line);
        if (!strstr(err.text, lines[i].text) || strncmp(err.text, "job.sh:2: ", 10) != 0)
            fail_msg("%s: %s", lines[i].line, err.text);
        assert_int_equal(s.cpus, 77);
    }
}

static void a_zero_byte_in_such_a_line_is_refused_and_elsewhere_is_not_looked_at(void **state)
{
    static const char bad[] = "#SBATCH -J a\0b\n", fine[] = "#!/x\0y\n#SBATCH -J a\n\0";
    struct adl_sbatch s;
    struct adl_error err;
    (void)state;
    assert_int_equal(adl_sbatch_read(bad, sizeof bad - 1, "job.sh", &s, &err), ADL_EINVAL);
    assert_int_equal(adl_sbatch_read(fine, sizeof fine - 1, "job.sh", &s, &err), 0);
    assert_string_equal(s.form.name, "a");
    adl_sbatch_clear(&s);
}

static void the_least_number_of_gpus_of_a_request_is_found(void **state)
{
    (void)state;
    assert_int_equal(adl_gpu_request_least("4"), 4);
    assert_int_equal(adl_gpu_request_least("v100:4|a100:2"), 2);
    assert_int_equal(adl_gpu_request_least("v100:4|a100"), 1);
    assert_int_equal(adl_gpu_request_least("v100"), 1);
    assert_int_equal(adl_gpu_request_least(":3"), 3);
    assert_int_equal(adl_gpu_request_least(""), 1);
    assert_int_equal(adl_gpu_request_least("v100:x|3"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_typical_script_is_read),
        cmocka_unit_test(a_script_says_how_its_work_is_saved),
        cmocka_unit_test(a_script_without_such_lines_asks_for_nothing),
        cmocka_unit_test(reading_stops_at_the_first_command_and_not_before),
        cmocka_unit_test(quotes_and_backslashes_work_as_in_slurm),
        cmocka_unit_test(gpus_can_be_asked_for_in_all_of_slurms_ways),
        cmocka_unit_test(the_last_of_the_memory_options_counts),
        cmocka_unit_test(options_without_a_meaning_here_give_one_warning_each),
        cmocka_unit_test(nonsense_is_refused_with_its_line_and_what_would_be_right),
        cmocka_unit_test(a_zero_byte_in_such_a_line_is_refused_and_elsewhere_is_not_looked_at),
        cmocka_unit_test(the_least_number_of_gpus_of_a_request_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
