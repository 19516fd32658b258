/* shepherd_main: `adlro-shepherd shepherd FOLDER`, the service starts one for each task. The same as `adlro shepherd`,
 * in a program so small that it starts fast. */
#include "executor/local/shepherd.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct adl_error err;
    if (argc != 3 || strcmp(argv[1], "shepherd") != 0) {
        fputs("adlro-shepherd is started by `adlro serve`, once for each job\n", stderr);
        return 2;
    }
    const int status = adl_shepherd_run(argv[2], &err);
    return status && status != ADL_EREFUSED; /* refused: another shepherd has the task */
}
