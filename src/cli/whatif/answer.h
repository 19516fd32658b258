/* answer: a what-if answer in words, from its document. */
#ifndef ADLRO_CLI_WHATIF_ANSWER_H
#define ADLRO_CLI_WHATIF_ANSWER_H

#include "base/text.h"

struct cJSON;

/* The document is untrusted. job: what to call the job; NULL = none is meant. */
void adl_answer_print(struct adl_text *text, const struct cJSON *answer, const char *job);

#endif
