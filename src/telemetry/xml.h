/* xml: reads the small, attribute-poor XML that tools print, value by value with its path. Not a general parser: no
 * namespaces, no entities beyond the five named ones, and a document type is skipped. */
#ifndef ADLRO_TELEMETRY_XML_H
#define ADLRO_TELEMETRY_XML_H

#include "base/error.h"

#include <stddef.h>

#define ADL_XML_DEPTH_MAX 24
#define ADL_XML_PATH_SIZE 512
#define ADL_XML_TEXT_SIZE 512 /* longer text is cut */

struct adl_xml_visitor {
    void *self;
    /* An element begins. path is "log/gpu/uuid". */
    void (*begin)(void *self, const char *path);
    /* The text of an element without children, trimmed; or an attribute, whose path ends in "@name". */
    void (*value)(void *self, const char *path, const char *text);
    void (*end)(void *self, const char *path);
};

/* An error names the document and the line. */
int adl_xml_read(const char *name, const char *data, size_t size, const struct adl_xml_visitor *visitor,
                 struct adl_error *err);

#endif
