/* interrupt: a request to stop (SIGINT, SIGTERM), noted so that work can end cleanly. */
#ifndef ADLRO_CLI_INTERRUPT_H
#define ADLRO_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first of either signal is only noted; a second one of the same kind ends the program. */
void adl_interrupt_install(void);
bool adl_interrupt_received(void);

#endif
