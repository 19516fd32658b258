/* shipped_catalogue: the text of scenarios/catalogue.yaml, in the program, so that a service needs no file. */
#ifndef ADLRO_INGEST_SHIPPED_CATALOGUE_H
#define ADLRO_INGEST_SHIPPED_CATALOGUE_H

#include <stddef.h>

extern const unsigned char adl_shipped_catalogue[];
extern const size_t adl_shipped_catalogue_size;

#endif
