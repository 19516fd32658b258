/* main: finds the verb. */
#include "base/suggest.h"
#include "cli/cli.h"
#include "executor/local/shepherd.h"

#include <stdio.h>
#include <string.h>

/* In the order of the list that `adlro --help` prints; a row with a heading begins a group. */
static const struct {
    const char *heading;
    const struct adl_command_verb *verb;
} verbs[] = {
    {"simulate and compare", &adl_verb_compare},
    {NULL, &adl_verb_simulate},
    {NULL, &adl_verb_replay},
    {NULL, &adl_verb_arena},
    {NULL, &adl_verb_whatif},
    {NULL, &adl_verb_policies},
    {NULL, &adl_verb_tune},
    {NULL, &adl_verb_train},
    {NULL, &adl_verb_estimate},
    {NULL, &adl_verb_scenario},
    {NULL, &adl_verb_score},
    {"jobs", &adl_verb_submit},
    {NULL, &adl_verb_queue},
    {NULL, &adl_verb_show},
    {NULL, &adl_verb_log},
    {NULL, &adl_verb_explain},
    {NULL, &adl_verb_cancel},
    {NULL, &adl_verb_hold},
    {NULL, &adl_verb_release},
    {NULL, &adl_verb_requeue},
    {NULL, &adl_verb_priority},
    {NULL, &adl_verb_progress},
    {"clusters and the service", &adl_verb_gpus},
    {NULL, &adl_verb_discover},
    {NULL, &adl_verb_slurm},
    {NULL, &adl_verb_serve},
    {NULL, &adl_verb_top},
    {NULL, &adl_verb_drain},
    {NULL, &adl_verb_health},
    {NULL, &adl_verb_power},
    {NULL, &adl_verb_shadow},
    {NULL, &adl_verb_promote},
    {NULL, &adl_verb_belief},
    {NULL, &adl_verb_token},
    {NULL, &adl_verb_backup},
};
#define VERB_COUNT (sizeof verbs / sizeof *verbs)

#define COLUMNS      100
#define NAME_COLUMNS 13

/* A verb's name and the first sentence of its summary, wrapped at blanks. */
static void print_verb(FILE *file, const struct adl_verb *verb)
{
    int column = fprintf(file, "  %-10s", verb->name);
    for (const char *word = verb->summary; *word;) {
        const int length = (int)strcspn(word, " ");
        if (column + 1 + length > COLUMNS)
            column = fprintf(file, "\n%*s", NAME_COLUMNS - 1, "") - 1;
        column += fprintf(file, " %.*s", length, word);
        if (word[length - 1] == '.')
            break;
        word += length;
        word += *word == ' ';
    }
    fputc('\n', file);
}

static void print_usage(FILE *file)
{
    fputs("adlro decides which job runs on which GPU, when, and next to whom.\n\nusage: adlro VERB [OPTIONS] ...\n",
          file);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (verbs[i].heading)
            fprintf(file, "\n%s:\n", verbs[i].heading);
        print_verb(file, verbs[i].verb->verb);
    }
    fputs("\nadlro VERB --help shows more about it and its options.\n"
          "example: adlro compare paper16 --policies fcfs,easy\n",
          file);
}

static int unknown_verb(const char *name)
{
    struct adl_suggest suggest = {.word = name};
    char phrase[ADL_PHRASE_SIZE], quoted[ADL_QUOTE_SIZE];
    for (size_t i = 0; i < VERB_COUNT; i++)
        adl_suggest_offer(&suggest, verbs[i].verb->verb->name);
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
        if (strcmp(argv[1], verbs[i].verb->verb->name) == 0)
            return verbs[i].verb->run(argc - 2, argv + 2);
    return unknown_verb(argv[1]);
}
