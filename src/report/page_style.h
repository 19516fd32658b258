/* page_style: how a report's page looks, and the few lines of script that add to it. Nothing in it is
 * fetched. */
#ifndef ADLRO_REPORT_PAGE_STYLE_H
#define ADLRO_REPORT_PAGE_STYLE_H

/* Parts, in order, the last followed by NULL. The page reads in full without the script. */
extern const char *const adl_page_style[];
extern const char *const adl_page_script[];

#endif
