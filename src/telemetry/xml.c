#include "telemetry/xml.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct reader {
    const char *name;
    const char *at, *end;
    const struct adl_xml_visitor *visitor;
    struct adl_error *err;
    char path[ADL_XML_PATH_SIZE];
    size_t starts[ADL_XML_DEPTH_MAX]; /* of each element's name in the path */
    unsigned depth;
    bool leaf; /* the innermost element has had no children so far */
    char text[ADL_XML_TEXT_SIZE];
    size_t text_size;
    const char *begin;
};

static int refuse(const struct reader *reader, const char *what)
{
    unsigned line = 1;
    for (const char *at = reader->begin; at < reader->at && at < reader->end; at++)
        line += *at == '\n';
    return adl_fail(reader->err, ADL_EINVAL, "%.120s:%u: %s", reader->name, line, what);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ':';
}

static bool starts_with(const struct reader *reader, const char *text)
{
    const size_t size = strlen(text);
    return (size_t)(reader->end - reader->at) >= size && memcmp(reader->at, text, size) == 0;
}

/* Moves behind the next occurrence of text; false if there is none. */
static bool skip_past(struct reader *reader, const char *text)
{
    for (; reader->at < reader->end; reader->at++)
        if (starts_with(reader, text)) {
            reader->at += strlen(text);
            return true;
        }
    return false;
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
}

/* "<!DOCTYPE x [ ... ]>", "<?xml ... ?>", "<!-- ... -->", "<![CDATA[ ... ]]>" */
static int skip_declaration(struct reader *reader)
{
    const bool done = starts_with(reader, "<!--")        ? skip_past(reader, "-->")
                      : starts_with(reader, "<![CDATA[") ? skip_past(reader, "]]>")
                      : starts_with(reader, "<?")        ? skip_past(reader, "?>")
                                                         : skip_past(reader, ">");
    return done ? 0 : refuse(reader, "the file ends inside a declaration or comment");
}

static void put_char(struct reader *reader, char c)
{
    if (reader->text_size + 1 < sizeof reader->text)
        reader->text[reader->text_size++] = c;
}

static void take_char(struct reader *reader)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (starts_with(reader, entities[i].name)) {
            reader->at += strlen(entities[i].name);
            put_char(reader, entities[i].c);
            return;
        }
    put_char(reader, *reader->at++);
}

static const char *trimmed(struct reader *reader)
{
    while (reader->text_size > 0 && is_blank(reader->text[reader->text_size - 1]))
        reader->text_size--;
    reader->text[reader->text_size] = '\0';
    const char *text = reader->text;
    while (is_blank(*text))
        text++;
    return text;
}

static size_t path_length(const struct reader *reader)
{
    return strlen(reader->path);
}

/* Appends a name to the path; false if it is too long or empty. */
static bool push_name(struct reader *reader, char separator)
{
    size_t length = path_length(reader);
    const size_t before = length;
    if (length > 0 && length + 1 < sizeof reader->path)
        reader->path[length++] = separator;
    const size_t first = length;
    while (reader->at < reader->end && is_name(*reader->at) && length + 1 < sizeof reader->path)
        reader->path[length++] = *reader->at++;
    reader->path[length] = '\0';
    if (length > first && (reader->at == reader->end || !is_name(*reader->at)))
        return true;
    reader->path[before] = '\0';
    return false;
}

static int read_attribute(struct reader *reader)
{
    const size_t length = path_length(reader);
    if (!push_name(reader, '@'))
        return refuse(reader, "expected an attribute or the end of the tag");
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at != '=')
        return refuse(reader, "an attribute has no value");
    reader->at++;
    skip_blanks(reader);
    const char quote = reader->at < reader->end ? *reader->at : '\0';
    if (quote != '"' && quote != '\'')
        return refuse(reader, "the value of an attribute must be in quotes");
    reader->at++;
    reader->text_size = 0;
    while (reader->at < reader->end && *reader->at != quote)
        take_char(reader);
    if (reader->at == reader->end)
        return refuse(reader, "the file ends inside an attribute");
    reader->at++;
    reader->visitor->value(reader->visitor->self, reader->path, trimmed(reader));
    reader->path[length] = '\0';
    return 0;
}

static void leave(struct reader *reader)
{
    if (reader->leaf)
        reader->visitor->value(reader->visitor->self, reader->path, trimmed(reader));
    reader->visitor->end(reader->visitor->self, reader->path);
    reader->depth--;
    reader->path[reader->starts[reader->depth]] = '\0';
    reader->leaf = false;
    reader->text_size = 0;
}

static int open_tag(struct reader *reader)
{
    reader->at++;
    if (reader->depth == ADL_XML_DEPTH_MAX)
        return refuse(reader, "elements are nested too deeply");
    reader->starts[reader->depth] = path_length(reader);
    if (!push_name(reader, '/'))
        return refuse(reader, "a tag has no name, or a name that is too long");
    reader->depth++;
    reader->visitor->begin(reader->visitor->self, reader->path);
    skip_blanks(reader);
    while (reader->at < reader->end && *reader->at != '>' && *reader->at != '/') {
        const int status = read_attribute(reader);
        if (status)
            return status;
        skip_blanks(reader);
    }
    reader->leaf = true;
    reader->text_size = 0;
    if (starts_with(reader, "/>")) {
        reader->at += 2;
        leave(reader);
        return 0;
    }
    if (reader->at == reader->end || *reader->at != '>')
        return refuse(reader, "a tag does not end");
    reader->at++;
    return 0;
}

static int close_tag(struct reader *reader)
{
    char name[ADL_XML_PATH_SIZE];
    size_t size = 0;
    if (reader->depth == 0)
        return refuse(reader, "an element ends that did not begin");
    for (reader->at += 2; reader->at < reader->end && is_name(*reader->at) && size + 1 < sizeof name;)
        name[size++] = *reader->at++;
    name[size] = '\0';
    const char *open = reader->path + reader->starts[reader->depth - 1];
    open += *open == '/';
    skip_blanks(reader);
    if (strcmp(open, name) != 0 || reader->at == reader->end || *reader->at != '>')
        return refuse(reader, "the end of an element does not fit its beginning");
    reader->at++;
    leave(reader);
    return 0;
}

int adl_xml_read(const char *name, const char *data, size_t size, const struct adl_xml_visitor *visitor,
                 struct adl_error *err)
{
    struct reader reader = {
        .name = name, .at = data, .end = data + size, .begin = data, .visitor = visitor, .err = err};
    bool any = false;
    int status = 0;
    while (!status && reader.at < reader.end) {
        if (starts_with(&reader, "<?") || starts_with(&reader, "<!")) {
            status = skip_declaration(&reader);
        } else if (starts_with(&reader, "</")) {
            status = close_tag(&reader);
        } else if (*reader.at == '<') {
            any = true;
            status = open_tag(&reader);
        } else if (reader.depth == 0 && !is_blank(*reader.at)) {
            status = refuse(&reader, "expected XML, as `nvidia-smi -q -x` prints it");
        } else {
            take_char(&reader);
        }
    }
    if (!status && (reader.depth > 0 || !any))
        status = refuse(&reader, any ? "the file ends inside an element" : "the file has no element");
    return status;
}
