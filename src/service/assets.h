/* assets: the files of web/ and the libraries they use, built into the program (packaging/embed_web.cmake). */
#ifndef ADLRO_SERVICE_ASSETS_H
#define ADLRO_SERVICE_ASSETS_H

#include "http/http_request.h"

struct adl_asset_entry {
    const char *name; /* "index.html", served as / as well */
    struct adl_asset asset;
};

extern const struct adl_asset_entry adl_web_assets[];
extern const size_t adl_web_asset_count;

#endif
