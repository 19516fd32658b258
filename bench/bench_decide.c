/* bench_decide: how long a decision takes, for each policy: on paper16, on 256 GPUs with 512 jobs waiting, and on
 * 10,000 GPUs with 1,000 jobs waiting. dqn and adlro have bars, and gogh on 10,000 GPUs. Each policy runs in a process
 * of its own, so that a policy that takes too long is reported and the others are still measured; a run that takes long
 * ends after enough decisions. A bar that is missed is marked and makes it exit 1. `bench_decide POLICY...` measures
 * these only.
 */
#include "decision_cost.h"
#include "scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 20 };

static void die(const char *text)
{
    fprintf(stderr, "bench_decide: %s\n", text);
    exit(1);
}

/* In the child: prints the line; 0, or 1 if a bar is missed. */
static int show(uint32_t place, const struct adl_scenario *scenario, const struct adl_policy_ops *ops)
{
    const struct decision_cost seen = decision_cost(place, scenario, ops);
    const double bar_us = decision_bar_us(place, ops->name);
    const bool missed = bar_us > 0 && seen.p99_us >= bar_us;
    printf("  %-14s p50 %9.2f us   p99 %9.2f us   most %9.2f us   of %zu decisions", ops->name, seen.p50_us,
           seen.p99_us, seen.most_us, seen.count);
    if (bar_us > 0)
        printf("   (bar p99 %.0f us: %s)", bar_us, missed ? "MISSED" : "met");
    putchar('\n');
    return missed;
}

/* True if a bar was missed. */
static bool bench_policy(uint32_t place, const struct adl_scenario *scenario, const struct adl_policy_ops *ops)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child < 0)
        die("cannot start a process");
    if (child == 0) {
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = PATIENCE_S}, NULL); /* of processor time */
        exit(show(place, scenario, ops));
    }
    if (waitpid(child, &status, 0) != child)
        die("a process is lost");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
        const bool barred = decision_bar_us(place, ops->name) > 0;
        printf("  %-14s not measured: one run takes more than %d s%s\n", ops->name, PATIENCE_S,
               barred ? " MISSED" : "");
        return barred;
    }
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static bool is_asked(const char *policy, int argc, char **argv)
{
    bool asked = argc < 2;
    for (int i = 1; i < argc; i++)
        asked |= strcmp(argv[i], policy) == 0;
    return asked;
}

int main(int argc, char **argv)
{
    int missed = 0;
    for (uint32_t p = 0; p < DECISION_PLACES; p++) {
        struct adl_scenario scenario = {0};
        decision_place_load(p, &scenario);
        printf("%s%s\n", p ? "\n" : "", decision_place_name(p));
        for (uint32_t i = 0; i < adl_policy_count(); i++)
            if (is_asked(adl_policy_at(i)->name, argc, argv))
                missed += bench_policy(p, &scenario, adl_policy_at(i));
        if (!adl_policy_find("dqn"))
            printf("  %-14s SKIPPED: this version has no such policy\n", "dqn");
        adl_scenario_clear(&scenario);
    }
    return missed > 0;
}
