/* top_frame: one screen of `adlro top` as text: the cluster's state, its GPUs with bars, the jobs. Colours are kept
 * apart from the text, so that the same text can go to a terminal or a file. */
#ifndef ADLRO_CLI_CLIENT_TOP_FRAME_H
#define ADLRO_CLI_CLIENT_TOP_FRAME_H

#include "base/text.h"
#include "cli/client/top_gpus.h"

#include <stdbool.h>
#include <stddef.h>

struct cJSON;

enum adl_tone { ADL_TONE_TITLE, ADL_TONE_GOOD, ADL_TONE_WARN, ADL_TONE_BAD, ADL_TONE_DIM, ADL_TONE_CURSOR };

struct adl_frame_span {
    int row, column, length; /* in characters */
    int tone;                /* enum adl_tone */
};

#define ADL_SPANS_MAX 512

struct adl_frame {
    struct adl_text text; /* lines, each with its line feed */
    int rows;
    struct adl_frame_span spans[ADL_SPANS_MAX];
    int span_count;
};

enum adl_pane { ADL_PANE_GPUS, ADL_PANE_JOBS, ADL_PANE_COUNT };

struct adl_top_view {
    const struct cJSON *cluster; /* NULL = not known yet */
    const struct cJSON *jobs;    /* array: running, then pending */
    const char *trouble;         /* why the data is old; NULL = it is not */
    const char *prompt;          /* a question or an answer in the last line; NULL = the keys */
    int rows;                    /* of the screen; 0 = as many as needed, without the line of keys */
    int columns;
    int pane;                              /* with the cursor */
    int cursor[ADL_PANE_COUNT];            /* the line in each */
    int sort;                              /* of the GPUs: enum adl_top_sort */
    const char *filter;                    /* what lines have to have; "" = anything */
    const struct adl_top_history *history; /* NULL = none is shown */
    bool utf8;                             /* the terminal shows bars */
};

/* Clamps the cursors, and the frame shows where they are. The caller clears *ret. */
void adl_top_frame(struct adl_top_view *view, struct adl_frame *ret);
void adl_frame_clear(struct adl_frame *frame);

#endif
