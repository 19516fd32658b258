/* page_assets: report.css and report.js, which packaging/embed.cmake builds into the program.
 *
 * The colours of policies and kinds of job are Okabe and Ito's, which people with any common colour vision can
 * distinguish; the first policy, the baseline, is grey. */
#ifndef ADLRO_REPORT_PAGE_ASSETS_H
#define ADLRO_REPORT_PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char adl_report_css[];
extern const size_t adl_report_css_size;
extern const unsigned char adl_report_js[];
extern const size_t adl_report_js_size;

#endif
