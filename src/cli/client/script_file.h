/* script_file: reads a batch script to be submitted, from a file or standard input. */
#ifndef ADLRO_CLI_CLIENT_SCRIPT_FILE_H
#define ADLRO_CLI_CLIENT_SCRIPT_FILE_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>

/* 1 and its text if the path names a batch script; 0 if it is a command to be run as it is: no readable file, a
 * compiled program, or the name of a program in PATH. A text file that cannot be run as a script (no #!, CR LF) is
 * ADL_EINVAL, with the remedy. here: the job will run on this machine, so that its interpreter can be checked. */
int adl_script_file_read(const char *path, bool here, struct adl_text *ret, struct adl_error *err);

/* The script on standard input, which must be one; fails if that is a terminal. */
int adl_script_stdin_read(bool here, struct adl_text *ret, struct adl_error *err);

#endif
