/* serve: the service, from the command line. */
#include "cli/cli.h"
#include "service/service.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct options {
    const char *state, *config, *socket, *tcp, *tokens, *policy, *twin, *partitions, *mode;
    int engine;
    double speed;
    bool no_limits, check;
};

static const char *const engines[] = {"configured", "local", "sim", "slurm", NULL};

#define AT(member) .offset = offsetof(struct options, member)
static const struct adl_option table[] = {
    {"state", 's', ADL_OPTION_TEXT, AT(state), .value = "DIR",
     .help = "directory of the service's state; created if its parent exists"},
    {"config", 'c', ADL_OPTION_TEXT, AT(config), .value = "FILE",
     .help = "configuration (docs/service.md); without one: this machine's GPUs, or virtual slots if it has none"},
    {"engine", 'e', ADL_OPTION_NAME, AT(engine), .names = engines, .value = "NAME",
     .help = "what runs the jobs; `sim` needs --twin, `slurm` --partitions or a configuration"},
    {"partitions", 0, ADL_OPTION_TEXT, AT(partitions), .value = "LIST",
     .help = "partitions of a Slurm cluster whose GPU jobs adlro schedules (docs/slurm.md)"},
    {"mode", 0, ADL_OPTION_TEXT, AT(mode), .value = "MODE", .help = "for Slurm: observe, advise or act"},
    {"twin", 't', ADL_OPTION_TEXT, AT(twin), .value = "SCENARIO",
     .help = "simulate a scenario instead of running jobs"},
    {"speed", 0, ADL_OPTION_REAL, AT(speed), .min = 0, .max = 1e6, .value = "X",
     .help = "speed of a twin's clock; 0 = as configured"},
    {"policy", 'p', ADL_OPTION_TEXT, AT(policy), .value = "NAME",
     .help = "policy to use instead of the configured one"},
    {"socket", 0, ADL_OPTION_TEXT, AT(socket), .value = "PATH",
     .help = "Unix socket to listen on instead of the configured one or the user's own"},
    {"tcp", 0, ADL_OPTION_TEXT, AT(tcp), .value = "ADDR:PORT",
     .help = "also listen there; clients need a token, and TLS unless the address is loopback"},
    {"tokens", 0, ADL_OPTION_TEXT, AT(tokens), .value = "FILE", .help = "hashed tokens of clients (`adlro token`)"},
    {"no-limits", 0, ADL_OPTION_FLAG, AT(no_limits), .help = "do not limit the requests of a client, for benchmarks"},
    {"dry-run", 'n', ADL_OPTION_FLAG, AT(check),
     .help = "only print the resulting configuration; open and start nothing"},
};

static const struct adl_verb verb = {
    .name = "serve",
    .summary = "Runs the service: accepts jobs, decides which GPU runs which, starts them and shows them. Jobs survive "
               "its end; SIGTERM ends it, SIGHUP makes it read its configuration again.",
    .options = table,
    .option_count = sizeof table / sizeof *table,
    .alias = {"policies", "policy"},
    .example = "adlro serve --state /var/lib/adlro --config /etc/adlro.yaml\n"
               "adlro serve --state twin --twin mixed64 --speed 60 --policy gogh\n"
               "adlro serve --state /var/lib/adlro --engine slurm --partitions gpu --mode observe",
};

/* A thread of its own receives signals, so that they interrupt nothing else. */
struct listener {
    struct adl_service *service;
    sigset_t signals;
};

static void *handle_signals(void *self)
{
    const struct listener *listener = self;
    for (int signal = 0; sigwait(&listener->signals, &signal) == 0;) {
        if (signal == SIGUSR1)
            return NULL; /* the service has ended by itself */
        if (signal != SIGHUP)
            adl_service_end(listener->service);
        else if (adl_service_reload(listener->service))
            fputs("adlro serve: the configuration was not read again: too many requests are pending\n", stderr);
    }
    return NULL;
}

static void say(const char *text)
{
    fprintf(stderr, "adlro serve: %s\n", text);
}

static void block(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGHUP);
    sigaddset(ret, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, ret, NULL); /* before the first thread starts: all inherit it */
    signal(SIGPIPE, SIG_IGN);
}

static int serve(const struct options *options)
{
    struct adl_error err = {""};
    char text[1000];
    pthread_t thread;
    struct listener listener;
    const struct adl_service_options service = {.config = options->config,
                                                .state = options->state,
                                                .socket = options->socket,
                                                .tcp = options->tcp,
                                                .tokens = options->tokens,
                                                .policy = options->policy,
                                                .scenario = options->twin,
                                                .partitions = options->partitions,
                                                .mode = options->mode,
                                                .engine = options->engine,
                                                .speed = options->speed,
                                                .no_limits = options->no_limits,
                                                .say = say};
    block(&listener.signals);
    int status = adl_service_create(&service, &listener.service, &err);
    if (status)
        return adl_cli_fail(&verb, status, &err);
    if (pthread_create(&thread, NULL, handle_signals, &listener)) {
        adl_service_destroy(listener.service);
        status = adl_fail(&err, ADL_ENOMEM, "out of memory for a thread");
        return adl_cli_fail(&verb, status, &err);
    }
    adl_service_describe(listener.service, text, sizeof text);
    fprintf(stderr, "adlro %s\n", text);
    status = adl_service_run(listener.service, &err);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    adl_service_destroy(listener.service);
    return status ? adl_cli_fail(&verb, status, &err) : ADL_EXIT_DONE;
}

static int check(const struct options *options)
{
    struct adl_error err = {""};
    char text[1000];
    const struct adl_service_options service = {.config = options->config,
                                                .policy = options->policy,
                                                .scenario = options->twin,
                                                .partitions = options->partitions,
                                                .mode = options->mode,
                                                .engine = options->engine,
                                                .speed = options->speed};
    const int status = adl_service_check(&service, text, sizeof text, &err);
    if (status)
        return adl_cli_fail(&verb, status, &err);
    printf("%s\n", text);
    return ADL_EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct options options = {0};
    struct adl_operands operands;
    struct adl_error err;
    int code;
    if (!adl_cli_parse(&verb, argc, argv, &options, &operands, &code))
        return code;
    if (options.check)
        return check(&options);
    if (!options.state) {
        const int status = adl_fail(&err, ADL_EINVAL, "--state DIR is needed: the directory of the service's state");
        return adl_cli_fail(&verb, status, &err);
    }
    return serve(&options);
}

const struct adl_command_verb adl_verb_serve = {&verb, run};
