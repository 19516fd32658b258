#include "base/options.h"

#include "base/range.h"
#include "base/suggest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* One pass over argv. With a NULL target nothing is stored, so that a first pass can find every error. */
struct walk {
    const struct adl_verb *verb;
    int argc;
    char **argv;
    char *target;
    int next; /* argument to read next */
    int operand_count;
    uint64_t seen; /* bit per option */
    int listed;    /* values of options that may be given several times */
    struct adl_error *err;
};

static bool takes_value(const struct adl_option *option)
{
    return option->kind != ADL_OPTION_FLAG;
}

/* Only a clear number or a lone dash may look like an option and be a value. */
static bool looks_like_option(const char *text)
{
    return text[0] == '-' && text[1] != '\0' && text[1] != '.' && !(text[1] >= '0' && text[1] <= '9');
}

static int refuse_unknown(const struct walk *walk, const char *argument)
{
    char name[64], quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE] = "";
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, "="), argument);
    struct adl_suggest suggest = {.word = name + strspn(name, "-")};
    for (size_t i = 0; i < walk->verb->option_count; i++)
        adl_suggest_offer(&suggest, walk->verb->options[i].name);
    adl_suggest_offer(&suggest, "help");
    if (suggest.best)
        snprintf(phrase, sizeof phrase, "; did you mean '--%.60s'?", suggest.best);
    return adl_fail(walk->err, ADL_EINVAL, "unknown option %s for '%s'%s", adl_quote(name, quoted), walk->verb->name,
                    phrase);
}

static const struct adl_option *find_option(const struct adl_verb *verb, const char *argument)
{
    const bool is_long = argument[1] == '-';
    const char *name = argument + (is_long ? 2 : 1);
    size_t length = is_long ? strcspn(name, "=") : strlen(name);
    if (is_long && verb->alias.also && strlen(verb->alias.also) == length &&
        memcmp(verb->alias.also, name, length) == 0) {
        name = verb->alias.name;
        length = strlen(name);
    }
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct adl_option *option = &verb->options[i];
        if (is_long ? strlen(option->name) == length && memcmp(option->name, name, length) == 0
                    : length == 1 && option->letter == name[0])
            return option;
    }
    return NULL;
}

static int read_name(const struct walk *walk, const struct adl_option *option, const char *text)
{
    char known[200] = "", quoted[ADL_QUOTE_SIZE], phrase[ADL_PHRASE_SIZE];
    struct adl_suggest suggest = {.word = text};
    for (int i = 0; option->names[i]; i++) {
        if (strcmp(option->names[i], text) == 0) {
            if (walk->target)
                memcpy(walk->target + option->offset, &i, sizeof i);
            return 0;
        }
        adl_suggest_offer(&suggest, option->names[i]);
        adl_list_append(known, sizeof known, option->names[i]);
    }
    return adl_fail(walk->err, ADL_EINVAL, "--%s must be one of %s, got %s%s", option->name, known,
                    adl_quote(text, quoted), adl_suggest_phrase(&suggest, phrase));
}

static int add_to_list(const struct walk *walk, const struct adl_option *option, const char *text)
{
    struct adl_option_list list;
    if (!walk->target)
        return 0;
    memcpy(&list, walk->target + option->offset, sizeof list);
    list.items[list.count++] = text;
    memcpy(walk->target + option->offset, &list, sizeof list);
    return 0;
}

static int read_value(const struct walk *walk, const struct adl_option *option, const char *text)
{
    const struct adl_range range = {.min = option->min, .max = option->max};
    char reason[ADL_REFUSAL_SIZE];
    char *place = walk->target ? walk->target + option->offset : NULL;
    int64_t whole = 0;
    double real = 0;
    bool good = true;
    switch (option->kind) {
    case ADL_OPTION_TEXT:
        if (place)
            memcpy(place, &text, sizeof text);
        break;
    case ADL_OPTION_INT:
        good = adl_range_read_int(text, &range, &whole, reason);
        if (good && place)
            memcpy(place, &whole, sizeof whole);
        break;
    case ADL_OPTION_REAL:
        good = adl_range_read_real(text, &range, &real, reason);
        if (good && place)
            memcpy(place, &real, sizeof real);
        break;
    case ADL_OPTION_NAME:
        return read_name(walk, option, text);
    case ADL_OPTION_LIST:
        return add_to_list(walk, option, text);
    default:
        assert(option->kind <= ADL_OPTION_LIST);
    }
    return good ? 0 : adl_fail(walk->err, ADL_EINVAL, "--%s %s", option->name, reason);
}

static int read_option(struct walk *walk, const char *argument)
{
    char quoted[ADL_QUOTE_SIZE];
    const struct adl_option *option = find_option(walk->verb, argument);
    if (!option)
        return refuse_unknown(walk, argument);
    const uint64_t bit = UINT64_C(1) << (option - walk->verb->options);
    if (option->kind == ADL_OPTION_LIST && ++walk->listed > ADL_OPTION_LIST_MAX)
        return adl_fail(walk->err, ADL_EINVAL, "--%s is given too often: at most %d times", option->name,
                        ADL_OPTION_LIST_MAX);
    if ((walk->seen & bit) && option->kind != ADL_OPTION_LIST)
        return adl_fail(walk->err, ADL_EINVAL, "--%s is given twice", option->name);
    walk->seen |= bit;

    const char *equals = argument[1] == '-' ? strchr(argument, '=') : NULL;
    if (!takes_value(option)) {
        if (equals)
            return adl_fail(walk->err, ADL_EINVAL, "--%s takes no value, got %s", option->name,
                            adl_quote(equals + 1, quoted));
        if (walk->target)
            memcpy(walk->target + option->offset, &(bool){true}, sizeof(bool));
        return 0;
    }
    if (equals)
        return read_value(walk, option, equals + 1);
    if (walk->next == walk->argc)
        return adl_fail(walk->err, ADL_EINVAL, "--%s needs a value: --%s %s", option->name, option->name,
                        option->value);
    const char *value = walk->argv[walk->next++];
    if (looks_like_option(value))
        return adl_fail(walk->err, ADL_EINVAL,
                        "--%s needs a value, got the option %s (a value that begins with a dash: --%s=%s)",
                        option->name, adl_quote(value, quoted), option->name, option->value);
    return read_value(walk, option, value);
}

/* Moves argv[at] to the end of the operands; the arguments between move up by one, so both keep their order. */
static void move_operand(struct walk *walk, int at)
{
    char *operand = walk->argv[at];
    memmove(&walk->argv[walk->operand_count + 1], &walk->argv[walk->operand_count],
            (size_t)(at - walk->operand_count) * sizeof *walk->argv);
    walk->argv[walk->operand_count] = operand;
}

static int check_operands(const struct walk *walk)
{
    const struct adl_verb *verb = walk->verb;
    if (walk->operand_count < verb->operands_min)
        return adl_fail(walk->err, ADL_EINVAL, "'%s' needs %s", verb->name, verb->operands);
    if (walk->operand_count > verb->operands_max)
        return adl_fail(walk->err, ADL_EINVAL, "'%s' takes at most %d of %s, got %d", verb->name, verb->operands_max,
                        verb->operands, walk->operand_count);
    return 0;
}

static int walk_arguments(struct walk *walk)
{
    bool only_operands = false;
    while (walk->next < walk->argc) {
        const int at = walk->next++;
        const char *argument = walk->argv[at];
        if (!only_operands && strcmp(argument, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argument[0] == '-' && argument[1] != '\0') {
            const int status = read_option(walk, argument);
            if (status)
                return status;
        } else if (walk->verb->operands_max == 0) {
            char quoted[ADL_QUOTE_SIZE];
            return adl_fail(walk->err, ADL_EINVAL, "'%s' takes no arguments beside options, got %s", walk->verb->name,
                            adl_quote(argument, quoted));
        } else {
            if (walk->target)
                move_operand(walk, at);
            walk->operand_count++;
            only_operands = only_operands || walk->verb->options_first;
        }
    }
    return check_operands(walk);
}

/* How many of the arguments may be a request for help: if the first operand ends the options, only those before it. */
static int own_arguments(const struct adl_verb *verb, int argc, char **argv)
{
    if (!verb->options_first)
        return argc;
    int at = 0;
    while (at < argc && argv[at][0] == '-' && argv[at][1] != '\0') {
        const struct adl_option *option = find_option(verb, argv[at]);
        const bool value_follows = option && takes_value(option) && (argv[at][1] != '-' || !strchr(argv[at], '='));
        at += value_follows ? 2 : 1;
    }
    return at < argc ? at : argc;
}

static bool asks_for_help(const struct adl_verb *verb, int argc, char **argv)
{
    const int own = own_arguments(verb, argc, argv);
    for (int i = 0; i < own && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

int adl_options_parse(const struct adl_verb *verb, int argc, char **argv, void *target,
                      struct adl_operands *ret_operands, struct adl_error *err)
{
    assert(verb->option_count <= ADL_OPTIONS_MAX);
    if (asks_for_help(verb, argc, argv))
        return ADL_OPTIONS_HELP;
    struct walk check = {.verb = verb, .argc = argc, .argv = argv, .err = err};
    const int status = walk_arguments(&check);
    if (status)
        return status;
    char nothing = 0; /* a verb without options may pass no struct; the second walk still has operands to move */
    struct walk store = {.verb = verb, .argc = argc, .argv = argv, .target = target ? target : &nothing};
    walk_arguments(&store);
    *ret_operands = (struct adl_operands){.items = argv, .count = store.operand_count, .seen = store.seen};
    return 0;
}
