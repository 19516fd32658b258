/* page_frame: the frame of a report's page, with style and script. The page fetches nothing. */
#ifndef ADLRO_REPORT_PAGE_FRAME_H
#define ADLRO_REPORT_PAGE_FRAME_H

#include "base/text.h"

/* From the doctype to the opened body, and from the script to the end. The title is "name \u2013 what". The page is
 * complete without the script. */
void adl_page_open(struct adl_text *text, const char *name, const char *what);
void adl_page_close(struct adl_text *text);

/* The caption above a chart. */
void adl_page_put_caption(struct adl_text *text, const char *title, const char *about);

#endif
