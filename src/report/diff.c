#include "report/diff.h"

#include "base/error.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 3 /* lines */

/* count lines of the old text, from first on, are replaced. */
struct block {
    size_t first, count;
    size_t edit_first, edit_count;
    size_t added; /* lines of the new text */
};

struct diff {
    const char *text;
    size_t size;
    size_t *starts; /* of lines, followed by the size of the text */
    size_t line_count;
    const struct adl_edit *edits; /* in order */
    struct block *blocks;
    size_t block_count;
};

static void find_lines(struct diff *diff)
{
    for (size_t at = 0; at < diff->size;) {
        const char *feed = memchr(diff->text + at, '\n', diff->size - at);
        diff->starts[diff->line_count++] = at;
        at = feed ? (size_t)(feed - diff->text) + 1 : diff->size;
    }
    diff->starts[diff->line_count] = diff->size;
}

/* The line of a byte; line_count for the end of a text that ends in a line feed. */
static size_t line_of(const struct diff *diff, size_t at)
{
    size_t low = 0, high = diff->line_count;
    if (at >= diff->size && (diff->size == 0 || diff->text[diff->size - 1] == '\n'))
        return diff->line_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (diff->starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void put_new(const struct diff *diff, const struct block *block, struct adl_text *ret)
{
    size_t at = diff->starts[block->first];
    const size_t end = diff->starts[block->first + block->count];
    for (size_t i = 0; i < block->edit_count; i++) {
        const struct adl_edit *edit = &diff->edits[block->edit_first + i];
        adl_text_bytes(ret, diff->text + at, edit->at - at);
        adl_text_put(ret, edit->text);
        at = edit->end;
    }
    adl_text_bytes(ret, diff->text + at, end - at);
}

static size_t count_lines(const char *text, size_t size)
{
    size_t count = size > 0 && text[size - 1] != '\n';
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    return count;
}

static void find_blocks(struct diff *diff, size_t edit_count)
{
    assert(diff->blocks);
    for (size_t i = 0; i < edit_count; i++) {
        const struct adl_edit *edit = &diff->edits[i];
        const size_t first = line_of(diff, edit->at);
        const size_t last = line_of(diff, edit->end > edit->at ? edit->end - 1 : edit->at);
        const size_t behind = first == diff->line_count ? first : last + 1;
        struct block *before = diff->block_count > 0 ? &diff->blocks[diff->block_count - 1] : NULL;
        if (before && first <= before->first + before->count) {
            before->count = behind > before->first + before->count ? behind - before->first : before->count;
            before->edit_count++;
        } else {
            diff->blocks[diff->block_count++] = (struct block){first, behind - first, i, 1, 0};
        }
    }
    for (size_t i = 0; i < diff->block_count; i++) {
        struct adl_text text = {0};
        put_new(diff, &diff->blocks[i], &text);
        diff->blocks[i].added = count_lines(text.data, text.size);
        adl_text_clear(&text);
    }
}

static void put_lines(struct adl_text *out, char mark, const char *text, size_t size)
{
    while (size > 0) {
        const char *feed = memchr(text, '\n', size);
        const size_t length = feed ? (size_t)(feed - text) + 1 : size;
        adl_text_char(out, mark);
        adl_text_bytes(out, text, length);
        if (!feed)
            adl_text_put(out, "\n\\ No newline at end of file\n");
        text += length;
        size -= length;
    }
}

static void put_old(struct adl_text *out, const struct diff *diff, char mark, size_t first, size_t last)
{
    put_lines(out, mark, diff->text + diff->starts[first], diff->starts[last] - diff->starts[first]);
}

static void put_place(struct adl_text *out, char mark, size_t first, size_t count)
{
    adl_text_printf(out, "%c%zu,%zu ", mark, count > 0 ? first + 1 : first, count);
}

/* Blocks first to last - 1, which are close together, with their context lines. */
static void put_hunk(struct adl_text *out, const struct diff *diff, size_t first, size_t last, size_t *grown)
{
    const struct block *begin = &diff->blocks[first], *end = &diff->blocks[last - 1];
    const size_t from = begin->first > CONTEXT ? begin->first - CONTEXT : 0;
    size_t to = end->first + end->count + CONTEXT, removed = 0, added = 0, at = from;
    if (to > diff->line_count)
        to = diff->line_count;
    for (size_t i = first; i < last; i++) {
        removed += diff->blocks[i].count;
        added += diff->blocks[i].added;
    }
    adl_text_put(out, "@@ ");
    put_place(out, '-', from, to - from);
    put_place(out, '+', from + *grown, to - from - removed + added);
    adl_text_put(out, "@@\n");
    *grown += added - removed; /* wraps around if the file shrinks */
    for (size_t i = first; i < last; i++) {
        const struct block *block = &diff->blocks[i];
        struct adl_text text = {0};
        put_old(out, diff, ' ', at, block->first);
        at = block->first + block->count;
        put_old(out, diff, '-', block->first, at);
        put_new(diff, block, &text);
        put_lines(out, '+', text.data, text.size);
        out->failed = out->failed || text.failed;
        adl_text_clear(&text);
    }
    put_old(out, diff, ' ', at, to);
}

static void put_diff(struct adl_text *out, const char *path, const struct diff *diff)
{
    const char *tab = strpbrk(path, " \t") ? "\t" : ""; /* patch ends the name there */
    size_t grown = 0;
    adl_text_printf(out, "--- a%s%s\n+++ b%s%s\n", path, tab, path, tab);
    for (size_t first = 0, last; first < diff->block_count; first = last) {
        last = first + 1;
        while (last < diff->block_count &&
               diff->blocks[last].first - (diff->blocks[last - 1].first + diff->blocks[last - 1].count) <=
                   (size_t)2 * CONTEXT)
            last++;
        put_hunk(out, diff, first, last, &grown);
    }
}

/* Insertion sort: edits are few, and it is stable. */
static void sort_edits(struct adl_edit *edits, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct adl_edit edit = edits[i];
        size_t to = i;
        for (; to > 0 && edits[to - 1].at > edit.at; to--)
            edits[to] = edits[to - 1];
        edits[to] = edit;
    }
}

int adl_diff_put(struct adl_text *out, const char *path, const char *text, size_t size, const struct adl_edit *edits,
                 size_t count)
{
    if (count == 0)
        return 0;
    struct adl_edit *sorted = malloc(count * sizeof *sorted);
    struct diff diff = {.text = text,
                        .size = size,
                        .starts = malloc((count_lines(text, size) + 1) * sizeof *diff.starts),
                        .edits = sorted,
                        .blocks = malloc(count * sizeof *diff.blocks)};
    const bool whole = sorted && diff.starts && diff.blocks;
    if (whole) {
        memcpy(sorted, edits, count * sizeof *sorted);
        sort_edits(sorted, count);
        find_lines(&diff);
        find_blocks(&diff, count);
        put_diff(out, path, &diff);
    }
    free(sorted);
    free(diff.starts);
    free(diff.blocks);
    return whole ? adl_text_status(out) : ADL_ENOMEM;
}
