#include "cli/cli.h"

#include "experiment/run.h"
#include "policy/dqn/normalize.h"
#include "policy/market/valuation.h"
#include "rl/model_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_piece(void *file, const char *text)
{
    fputs(text, file);
}

bool adl_cli_parse(const struct adl_verb *verb, int argc, char **argv, void *options, struct adl_operands *ret_operands,
                   int *ret_exit)
{
    struct adl_error err;
    const int status = adl_options_parse(verb, argc, argv, options, ret_operands, &err);
    if (status == 0)
        return true;
    if (status == ADL_OPTIONS_HELP) {
        adl_options_help(verb, "adlro", options, print_piece, stdout);
        *ret_exit = ADL_EXIT_DONE;
        return false;
    }
    fprintf(stderr, "adlro %s: %s\nadlro %s --help shows what is possible\n", verb->name, err.text, verb->name);
    *ret_exit = ADL_EXIT_USAGE;
    return false;
}

int adl_cli_fail(const struct adl_verb *verb, int status, const struct adl_error *err)
{
    fprintf(stderr, "adlro %s: %s\n", verb->name, err->text);
    return status == ADL_EINVAL ? ADL_EXIT_USAGE : ADL_EXIT_FAILED;
}

int adl_cli_model(const char *path, struct adl_scenario *scenario, char **ret_bytes, struct adl_error *err)
{
    struct adl_error inner = {{0}};
    char *bytes = NULL;
    size_t size = 0;
    if (!path)
        return 0;
    int status = adl_model_store_read_bytes(path, &bytes, &size, err);
    if (status)
        return status;
    status = adl_model_store_check(bytes, size, &inner);
    if (status) {
        free(bytes);
        return adl_fail(err, status, "%.200s: %s", path, inner.text);
    }
    scenario->policy.model = bytes;
    scenario->policy.model_size = size;
    *ret_bytes = bytes;
    return 0;
}

void adl_progress_begin(struct adl_progress *progress, const char *unit)
{
    *progress = (struct adl_progress){.start_ns = adl_clock_ns(), .unit = unit, .active = isatty(STDERR_FILENO)};
}

void adl_progress_show(void *self, uint64_t done, uint64_t total)
{
    struct adl_progress *progress = self;
    const int64_t now_ns = adl_clock_ns();
    const double spent_s = (double)(now_ns - progress->start_ns) * 1e-9;
    if (!progress->active || spent_s < 0.5 || (now_ns - progress->shown_ns < 100000000 && done < total))
        return;
    enum { WIDTH = 40 };
    char bar[WIDTH + 1];
    const uint64_t filled = done * WIDTH / total;
    memset(bar, '.', WIDTH);
    memset(bar, '#', filled);
    bar[WIDTH] = '\0';
    const double rate = (double)done / spent_s;
    fprintf(stderr, "\r[%s] %3.0f %%  %llu/%llu %s  %.3g/s  %.0f s left \033[K", bar,
            100.0 * (double)done / (double)total, (unsigned long long)done, (unsigned long long)total, progress->unit,
            rate, (double)(total - done) / (rate > 0 ? rate : 1));
    fflush(stderr);
    progress->shown_ns = now_ns;
    progress->drawn = true;
}

void adl_progress_end(struct adl_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}

uint32_t adl_cli_cores(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > 64 ? 64 : (uint32_t)cores;
}
