/* training_report: a training's log for people and programs. */
#ifndef ADLRO_REPORT_TRAINING_REPORT_H
#define ADLRO_REPORT_TRAINING_REPORT_H

#include "base/text.h"
#include "report/training_log.h"

void adl_training_csv(struct adl_text *text, const struct adl_training_log *log);  /* a row for each round */
void adl_training_json(struct adl_text *text, const struct adl_training_log *log); /* the same, and the baselines */
/* The best model's held-out figures beside the baselines', a few lines; nothing before the first validation. */
void adl_training_summary(struct adl_text *text, const struct adl_training_log *log);
/* training_page.c: the curves, as one self-contained page. */
void adl_training_html(struct adl_text *text, const struct adl_training_log *log);

#endif
