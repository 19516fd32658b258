/* notes: the sentences below a comparison that are needed to read its figures correctly. */
#ifndef ADLRO_REPORT_NOTES_H
#define ADLRO_REPORT_NOTES_H

#include "base/text.h"
#include "experiment/comparison.h"

/* Appends plain text, one note a line, each ended with '\n'; line breaks in names become spaces. */
void adl_notes_put(struct adl_text *text, const struct adl_comparison *comparison);

/* A policy's rounds, in one sentence. True if it is a warning: they are far longer than its jobs run. */
bool adl_notes_put_round(struct adl_text *text, const struct adl_comparison *comparison, uint32_t index);

/* What the row of what happened can and cannot tell, in one paragraph; nothing if there is no such row. */
void adl_notes_put_actual(struct adl_text *text, const struct adl_comparison *comparison);

/* "16 GPUs on 4 nodes: 8 x V100, 4 x T4" */
void adl_notes_put_cluster(struct adl_text *text, const struct adl_cluster *cluster);

/* A name on one line: control characters become spaces, invalid UTF-8 becomes U+FFFD. */
void adl_notes_put_name(struct adl_text *text, const char *name);

#endif
