/* yaml_describe: a typed table as documentation, so that the reference cannot say anything else than the
 * reader does. */
#include "base/range.h"
#include "base/suggest.h"
#include "scenario/yaml.h"

#include <stdio.h>
#include <string.h>

#define PATH_SIZE 160
#define CELL_SIZE 240

struct page {
    void (*write)(void *context, const char *text);
    void *context;
};

static void print_value(const struct adl_yaml_field *field, char cell[CELL_SIZE])
{
    const struct adl_range range = {
        .min = field->min, .max = field->max, .open = field->open, .or_zero = field->or_zero};
    char bounds[ADL_REFUSAL_SIZE], names[160] = "";
    switch (field->kind) {
    case ADL_YAML_INT:
        snprintf(cell, CELL_SIZE, "whole number %.120s", adl_range_print(&range, bounds));
        break;
    case ADL_YAML_REAL:
        snprintf(cell, CELL_SIZE, "number %.120s", adl_range_print(&range, bounds));
        break;
    case ADL_YAML_BOOL:
        snprintf(cell, CELL_SIZE, "true or false");
        break;
    case ADL_YAML_TEXT:
        snprintf(cell, CELL_SIZE, "text, at most %zu bytes", field->size - 1);
        break;
    case ADL_YAML_WORD:
        snprintf(cell, CELL_SIZE, "name, at most %zu bytes", field->size - 1);
        break;
    case ADL_YAML_LINK:
        snprintf(cell, CELL_SIZE, "name");
        break;
    case ADL_YAML_NAME:
        for (int i = 0; field->names[i]; i++)
            adl_list_append(names, sizeof names, field->names[i]);
        snprintf(cell, CELL_SIZE, "one of %s", names);
        break;
    case ADL_YAML_GROUP:
        snprintf(cell, CELL_SIZE, "mapping");
        break;
    case ADL_YAML_LIST:
        snprintf(cell, CELL_SIZE, "list of %.0f to %.0f mappings", field->min, field->max);
        break;
    case ADL_YAML_REALS:
        snprintf(cell, CELL_SIZE, "list of %.0f to %.0f numbers above 0", field->min, field->max);
        break;
    default:
        snprintf(cell, CELL_SIZE, "list of %.0f to %.0f names", field->min, field->max);
        break;
    }
}

static void print_default(const struct adl_yaml_field *field, const char *place, char cell[CELL_SIZE])
{
    char number[ADL_BOUND_SIZE];
    int64_t whole = 0;
    int32_t narrow = 0;
    double real = 0;
    bool yes = false;
    snprintf(cell, CELL_SIZE, "%s", field->required ? "required" : field->otherwise ? field->otherwise : "");
    if (cell[0] || !place)
        return;
    switch (field->kind) {
    case ADL_YAML_INT:
        memcpy(field->size == sizeof whole ? (void *)&whole : (void *)&narrow, place, field->size);
        snprintf(cell, CELL_SIZE, "%lld", (long long)whole + narrow);
        break;
    case ADL_YAML_REAL:
        memcpy(&real, place, sizeof real);
        snprintf(cell, CELL_SIZE, "%s", adl_bound_print(real, number));
        break;
    case ADL_YAML_BOOL:
        memcpy(&yes, place, sizeof yes);
        snprintf(cell, CELL_SIZE, yes ? "true" : "false");
        break;
    default:
        snprintf(cell, CELL_SIZE, "none");
        break;
    }
}

static void describe(const struct page *page, const struct adl_yaml_table *table, const char *defaults,
                     const char *prefix)
{
    for (uint32_t i = 0; i < table->field_count; i++) {
        const struct adl_yaml_field *field = &table->fields[i];
        const char *place = defaults ? defaults + field->offset : NULL;
        char path[PATH_SIZE], value[CELL_SIZE], absent[CELL_SIZE], row[3 * CELL_SIZE];
        snprintf(path, sizeof path, "%.90s%s%.60s", prefix, prefix[0] ? "." : "", field->name);
        print_value(field, value);
        print_default(field, place, absent);
        snprintf(row, sizeof row, "| `%s` | %s | %s | ", path, value, absent);
        page->write(page->context, row);
        page->write(page->context, field->help);
        page->write(page->context, " |\n");
        if (field->kind == ADL_YAML_GROUP)
            describe(page, field->table, place, path);
        if (field->kind == ADL_YAML_LIST) {
            snprintf(row, sizeof row, "%s[]", path);
            describe(page, field->table, field->table->defaults, row);
        }
    }
}

void adl_yaml_describe(const struct adl_yaml_table *table, void (*write)(void *context, const char *text),
                       void *context)
{
    const struct page page = {.write = write, .context = context};
    write(context, "| Key | Value | If absent | Meaning |\n|---|---|---|---|\n");
    describe(&page, table, table->defaults, "");
}
