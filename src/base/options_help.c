/* options_help: the text that --help shows, made from the same table that the parser reads. */
#include "base/options.h"
#include "base/range.h"
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS    100
#define LEFT_MAX   30 /* an option that is wider than this gets its help on the next line */
#define LEFT_SIZE  96
#define RIGHT_SIZE 1024

struct page {
    void (*write)(void *context, const char *text);
    void *context;
    size_t column;
};

static void put(struct page *page, const char *text)
{
    page->write(page->context, text);
    const char *newline = strrchr(text, '\n');
    page->column = newline ? strlen(newline + 1) : page->column + strlen(text);
}

static void pad(struct page *page, size_t column)
{
    while (page->column < column)
        put(page, " ");
}

/* Fills lines up to COLUMNS with words; lines after the first begin at indent. */
static void put_words(struct page *page, const char *text, size_t indent)
{
    bool first = true;
    while (*text) {
        const size_t length = strcspn(text, " ");
        if (!first && page->column + 1 + length > COLUMNS) {
            put(page, "\n");
            pad(page, indent);
            first = true;
        }
        if (!first)
            put(page, " ");
        for (size_t at = 0; at < length;) { /* in pieces, as a word may be of any length */
            char piece[64];
            const size_t take = length - at < sizeof piece - 1 ? length - at : sizeof piece - 1;
            memcpy(piece, text + at, take);
            piece[take] = '\0';
            put(page, piece);
            at += take;
        }
        first = false;
        text += length;
        text += strspn(text, " ");
    }
}

static void print_left(const struct adl_option *option, char buffer[LEFT_SIZE])
{
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(buffer, LEFT_SIZE, "  %s--%.40s%s%.40s", letter, option->name, option->value ? " " : "",
             option->value ? option->value : "");
}

static void print_default(const struct adl_option *option, const char *place, char buffer[RIGHT_SIZE])
{
    char number[ADL_BOUND_SIZE];
    const char *text = NULL;
    int64_t whole = 0;
    double real = 0;
    int name = 0;
    buffer[0] = '\0';
    switch (option->kind) {
    case ADL_OPTION_TEXT:
        memcpy(&text, place, sizeof text);
        if (text)
            snprintf(buffer, RIGHT_SIZE, "%.200s", text);
        break;
    case ADL_OPTION_INT:
        memcpy(&whole, place, sizeof whole);
        if ((double)whole >= option->min && (double)whole <= option->max) /* another one means: not given */
            snprintf(buffer, RIGHT_SIZE, "%lld", (long long)whole);
        break;
    case ADL_OPTION_REAL:
        memcpy(&real, place, sizeof real);
        if (real >= option->min && real <= option->max)
            snprintf(buffer, RIGHT_SIZE, "%s", adl_bound_print(real, number));
        break;
    case ADL_OPTION_NAME:
        memcpy(&name, place, sizeof name);
        if (name >= 0)
            snprintf(buffer, RIGHT_SIZE, "%.200s", option->names[name]);
        break;
    default:
        break; /* a flag is off unless given */
    }
}

/* "seeds to run (1 to 1000, default 30)" */
static void print_right(const struct adl_option *option, const char *defaults, char buffer[RIGHT_SIZE])
{
    char facts[RIGHT_SIZE / 2] = "", value[RIGHT_SIZE] = "", low[ADL_BOUND_SIZE], high[ADL_BOUND_SIZE];
    if (option->kind == ADL_OPTION_INT || option->kind == ADL_OPTION_REAL)
        snprintf(facts, sizeof facts, "%s to %s", adl_bound_print(option->min, low),
                 adl_bound_print(option->max, high));
    for (int i = 0; option->kind == ADL_OPTION_NAME && option->names[i]; i++)
        adl_list_append(facts, sizeof facts, option->names[i]);
    if (defaults)
        print_default(option, defaults + option->offset, value);
    const char *separator = facts[0] ? option->kind == ADL_OPTION_NAME ? "; " : ", " : "";
    if (value[0])
        snprintf(facts + strlen(facts), sizeof facts - strlen(facts), "%sdefault %.220s", separator, value);
    snprintf(buffer, RIGHT_SIZE, facts[0] ? "%s (%s)" : "%s%s", option->help, facts);
}

static void put_option(struct page *page, const struct adl_option *option, const void *defaults, size_t indent)
{
    char left[LEFT_SIZE], right[RIGHT_SIZE];
    print_left(option, left);
    print_right(option, defaults, right);
    put(page, left);
    if (page->column + 2 > indent)
        put(page, "\n");
    pad(page, indent);
    put_words(page, right, indent);
    put(page, "\n");
}

static void put_examples(struct page *page, const char *examples)
{
    put(page, strchr(examples, '\n') ? "\nexamples:\n" : "\nexample:\n");
    while (*examples) {
        const size_t length = strcspn(examples, "\n");
        put(page, "  ");
        for (size_t i = 0; i < length; i++)
            put(page, (const char[]){examples[i], '\0'});
        put(page, "\n");
        examples += length + (examples[length] == '\n');
    }
}

void adl_options_help(const struct adl_verb *verb, const char *program, const void *defaults,
                      void (*write)(void *context, const char *text), void *context)
{
    static const struct adl_option help = {.name = "help", .letter = 'h', .help = "show this text"};
    struct page page = {.write = write, .context = context};
    size_t indent = 0;
    for (size_t i = 0; i < verb->option_count; i++) {
        char left[LEFT_SIZE];
        print_left(&verb->options[i], left);
        const size_t width = strlen(left) + 2;
        if (width > indent && width <= LEFT_MAX)
            indent = width;
    }
    indent = indent > 14 ? indent : 14;

    put(&page, "usage: ");
    put(&page, program);
    put(&page, program[0] ? " " : "");
    put(&page, verb->name);
    put(&page, " [options]");
    if (verb->operands) {
        put(&page, " ");
        put(&page, verb->operands);
    }
    put(&page, "\n\n");
    put_words(&page, verb->summary, 0);
    put(&page, "\n\noptions:\n");
    for (size_t i = 0; i < verb->option_count; i++)
        put_option(&page, &verb->options[i], defaults, indent);
    put_option(&page, &help, NULL, indent);
    if (verb->example)
        put_examples(&page, verb->example);
}
