/* main: finds the verb. */
#include "base/suggest.h"
#include "cli/cli.h"
#include "executor/local/shepherd.h"

#include <stdio.h>
#include <string.h>

static const struct adl_command_verb *const verbs[] = {
    &adl_verb_compare,  &adl_verb_arena,    &adl_verb_simulate, &adl_verb_replay,   &adl_verb_train,
    &adl_verb_tune,     &adl_verb_estimate, &adl_verb_score,    &adl_verb_scenario, &adl_verb_policies,
    &adl_verb_gpus,     &adl_verb_discover, &adl_verb_serve,    &adl_verb_submit,   &adl_verb_queue,
    &adl_verb_show,     &adl_verb_log,      &adl_verb_explain,  &adl_verb_cancel,   &adl_verb_hold,
    &adl_verb_release,  &adl_verb_requeue,  &adl_verb_priority, &adl_verb_drain,    &adl_verb_top,
    &adl_verb_token,    &adl_verb_slurm,    &adl_verb_backup,   &adl_verb_belief,   &adl_verb_health,
    &adl_verb_progress, &adl_verb_whatif,   &adl_verb_shadow,   &adl_verb_promote,  &adl_verb_power,
};
#define VERB_COUNT (sizeof verbs / sizeof *verbs)

#define COLUMNS      100
#define NAME_COLUMNS 13

/* A verb's name and its summary, wrapped at blanks. */
static void print_verb(FILE *file, const struct adl_verb *verb)
{
    int column = fprintf(file, "  %-10s", verb->name);
    for (const char *word = verb->summary; *word;) {
        const int length = (int)strcspn(word, " ");
        if (column + 1 + length > COLUMNS)
            column = fprintf(file, "\n%*s", NAME_COLUMNS - 1, "") - 1;
        column += fprintf(file, " %.*s", length, word);
        word += length;
        word += *word == ' ';
    }
    fputc('\n', file);
}

static void print_usage(FILE *file)
{
    fputs("adlro decides which job runs on which GPU, when, and next to whom.\n\nusage: adlro VERB [OPTIONS] ...\n\n",
          file);
    for (size_t i = 0; i < VERB_COUNT; i++)
        print_verb(file, verbs[i]->verb);
    fputs("\nadlro VERB --help shows its options.\nexample: adlro compare paper16 --policies fcfs,easy\n", file);
}

static int unknown_verb(const char *name)
{
    struct adl_suggest suggest = {.word = name};
    char phrase[ADL_PHRASE_SIZE], quoted[ADL_QUOTE_SIZE];
    for (size_t i = 0; i < VERB_COUNT; i++)
        adl_suggest_offer(&suggest, verbs[i]->verb->name);
    fprintf(stderr, "adlro: there is no verb %s%s (`adlro --help` lists them)\n", adl_quote(name, quoted),
            adl_suggest_phrase(&suggest, phrase));
    return ADL_EXIT_USAGE;
}

/* `adlro shepherd FOLDER`: the service starts one for each task. Not for people, so not listed. */
static int shepherd(const char *folder)
{
    struct adl_error err;
    const int status = adl_shepherd_run(folder, &err);
    if (status == 0 || status == ADL_EREFUSED)
        return ADL_EXIT_DONE; /* another shepherd has the task */
    fprintf(stderr, "adlro shepherd: %s\n", err.text);
    return ADL_EXIT_FAILED;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return ADL_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return ADL_EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("adlro " ADL_VERSION);
        return ADL_EXIT_DONE;
    }
    if (strcmp(argv[1], "shepherd") == 0 && argc == 3)
        return shepherd(argv[2]);
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(argv[1], verbs[i]->verb->name) == 0)
            return verbs[i]->run(argc - 2, argv + 2);
    return unknown_verb(argv[1]);
}
