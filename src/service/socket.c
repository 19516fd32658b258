/* socket: the default socket of the service. */
#include "service/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void adl_service_socket(char *ret, size_t size)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (geteuid() == 0)
        snprintf(ret, size, "/run/adlro/adlro.sock");
    else if (folder && folder[0] == '/')
        snprintf(ret, size, "%s/adlro.sock", folder);
    else
        snprintf(ret, size, "/tmp/adlro-%lu/adlro.sock", (unsigned long)geteuid());
}
