/* headline: the last policy of a comparison against the best of the others, in plain words, better or worse. */
#ifndef ADLRO_REPORT_HEADLINE_H
#define ADLRO_REPORT_HEADLINE_H

#include "base/text.h"
#include "experiment/comparison.h"

struct adl_headline {
    uint32_t policy;                          /* the last one */
    uint32_t peer;                            /* of the others, the one with the least mean JCT */
    struct adl_summary change;                /* of the mean JCT over the seeds, in percent of the peer's mean */
    double p;                                 /* Wilcoxon signed rank on the mean JCT: one test, not corrected */
    double metric_p[ADL_METRIC_FIRST_TIMING]; /* the same by metric, Holm-corrected over them */
};

/* 0; ADL_EABSENT if there are not two policies with a mean JCT to compare; ADL_ENOMEM. */
int adl_headline_compute(const struct adl_comparison *comparison, struct adl_headline *ret);

/* Plain text without a line break: who finishes jobs sooner, and by how much. */
void adl_headline_put(struct adl_text *text, const struct adl_comparison *comparison,
                      const struct adl_headline *headline);
/* Both means, the interval of the change, the test, p99, evictions and the GPU time lost to them. */
void adl_headline_put_details(struct adl_text *text, const struct adl_comparison *comparison,
                              const struct adl_headline *headline);

#endif
