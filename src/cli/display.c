#include "cli/display.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Characters that a terminal obeys instead of showing: C1 controls, and those that change the direction of writing. */
static bool is_terminal_control(const unsigned char *bytes, size_t length)
{
    if (length == 1)
        return bytes[0] < 0x20 || bytes[0] == 0x7f;
    if (length == 2)
        return bytes[0] == 0xc2 && bytes[1] < 0xa0;
    if (length != 3 || bytes[0] != 0xe2)
        return false;
    return (bytes[1] == 0x80 && (bytes[2] == 0x8e || bytes[2] == 0x8f || (bytes[2] >= 0xa8 && bytes[2] <= 0xae))) ||
           (bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9);
}

void adl_display_put(struct adl_text *text, const char *string, size_t columns)
{
    const bool cut = columns != ADL_DISPLAY_ALL && adl_utf8_count(string) > columns;
    size_t room = cut ? (columns > 2 ? columns - 2 : 0) : columns;
    for (; *string && room > 0; room--) {
        const size_t length = adl_utf8_length(string);
        if (*string == '\n' || *string == '\t')
            adl_text_char(text, ' ');
        else if (length == 0 || is_terminal_control((const unsigned char *)string, length))
            adl_text_char(text, '?');
        else
            adl_text_bytes(text, string, length);
        string += length ? length : 1;
    }
    if (cut)
        adl_text_repeat(text, '.', columns < 2 ? columns : 2);
}

void adl_display_pad(struct adl_text *text, const char *string, size_t columns)
{
    const size_t count = adl_utf8_count(string);
    adl_display_put(text, string, columns);
    if (count < columns)
        adl_text_repeat(text, ' ', columns - count);
}

void adl_display_json(struct adl_text *text, const struct cJSON *json)
{
    char *printed = cJSON_Print(json);
    text->failed = text->failed || !printed;
    for (const char *at = printed; at && *at;) {
        const size_t length = adl_utf8_length(at);
        const unsigned char *bytes = (const unsigned char *)at;
        if (*at == '\n' || *at == '\t') {
            adl_text_char(text, *at == '\n' ? '\n' : ' ');
        } else if (length == 0) {
            adl_text_put(text, "\\ufffd");
        } else if (is_terminal_control(bytes, length)) {
            const unsigned code = length == 1   ? bytes[0]
                                  : length == 2 ? bytes[1]
                                                : 0x2000u | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
            adl_text_printf(text, "\\u%04x", code);
        } else {
            adl_text_bytes(text, at, length);
        }
        at += length ? length : 1;
    }
    adl_text_char(text, '\n');
    cJSON_free(printed);
}

size_t adl_display_columns(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
        return ADL_DISPLAY_ALL;
    return size.ws_col;
}

const char *adl_member_text(const struct cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? text : "";
}

double adl_member_number(const struct cJSON *object, const char *name, double fallback)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : fallback;
}

int adl_member_flag(const struct cJSON *object, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name)) ? 1 : 0;
}

/* Narrows the columns that may be cut, the widest first, until the line fits. */
static void squeeze(const struct adl_table_column *columns, size_t column_count, size_t *widths, size_t width)
{
    for (;;) {
        size_t total = column_count - 1, widest = column_count;
        for (size_t i = 0; i < column_count; i++) {
            total += widths[i];
            if (columns[i].least && widths[i] > columns[i].least &&
                (widest == column_count || widths[i] > widths[widest]))
                widest = i;
        }
        if (total <= width || widest == column_count)
            return;
        widths[widest]--;
    }
}

static void put_row(struct adl_text *text, const struct adl_table_column *columns, size_t column_count,
                    const size_t *widths, const char *const *cells)
{
    for (size_t i = 0; i < column_count; i++) {
        const size_t count = adl_utf8_count(cells[i]);
        if (i > 0)
            adl_text_char(text, ' ');
        if (columns[i].right && count < widths[i])
            adl_text_repeat(text, ' ', widths[i] - count);
        if (i + 1 < column_count && !columns[i].right)
            adl_display_pad(text, cells[i], widths[i]);
        else
            adl_display_put(text, cells[i], widths[i]);
    }
    size_t end = text->size;
    while (end > 0 && text->data[end - 1] == ' ')
        end--;
    adl_text_truncate(text, end);
    adl_text_char(text, '\n');
}

void adl_table_print(struct adl_text *text, const struct adl_table_column *columns, size_t column_count,
                     const char *const *cells, size_t row_count, size_t width)
{
    size_t widths[ADL_TABLE_COLUMNS_MAX];
    const char *titles[ADL_TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < column_count; i++) {
        titles[i] = columns[i].title;
        widths[i] = strlen(titles[i]);
        for (size_t row = 0; row < row_count; row++) {
            const size_t count = adl_utf8_count(cells[row * column_count + i]);
            widths[i] = count > widths[i] ? count : widths[i];
        }
        if (columns[i].most && widths[i] > columns[i].most)
            widths[i] = columns[i].most;
    }
    if (width != ADL_DISPLAY_ALL)
        squeeze(columns, column_count, widths, width);
    put_row(text, columns, column_count, widths, titles);
    for (size_t row = 0; row < row_count; row++)
        put_row(text, columns, column_count, widths, &cells[row * column_count]);
}
