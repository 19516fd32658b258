#include "report/page_frame.h"

#include "report/page_assets.h"
#include "report/svg.h"

void adl_page_open(struct adl_text *text, const char *name, const char *what)
{
    adl_text_put(text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                       "content=\"width=device-width,initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n<title>");
    adl_html_put(text, name);
    adl_text_put(text, " \u2013 ");
    adl_html_put(text, what);
    adl_text_put(text, "</title>\n<style>\n");
    adl_text_bytes(text, (const char *)adl_report_css, adl_report_css_size);
    adl_text_put(text, "</style>\n</head>\n<body>\n<div class=\"page\">\n");
}

void adl_page_close(struct adl_text *text)
{
    adl_text_put(text, "</div>\n<script>\n");
    adl_text_bytes(text, (const char *)adl_report_js, adl_report_js_size);
    adl_text_put(text, "</script>\n</body>\n</html>\n");
}

void adl_page_put_caption(struct adl_text *text, const char *title, const char *about)
{
    adl_text_put(text, "<figcaption><b>");
    adl_html_put(text, title);
    adl_text_put(text, "</b><span>");
    adl_html_put(text, about);
    adl_text_put(text, "</span></figcaption>\n");
}
