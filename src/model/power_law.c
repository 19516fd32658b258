#include "model/power_law.h"

#include "base/real.h"

#include <assert.h>

/* x^exponent; x 0..1. */
static double power(double x, double exponent)
{
    return x > 0 ? adl_exp(exponent * adl_log(x)) : 0;
}

struct adl_power_point adl_power_law_point(const struct adl_power_law *law, double load, double room)
{
    assert(load >= 0 && load <= 1 && law->bend > 0 && law->least > 0);
    const double peak = power(load, law->burst);
    if (room >= peak)
        return (struct adl_power_point){1.0, load};
    double x = room > 0 ? room / peak : 0;
    double speed = 1.0 - power(1.0 - x, law->bend);
    if (speed < law->least) {
        speed = law->least;
        x = 1.0 - power(1.0 - speed, 1.0 / law->bend);
    }
    const double time = 1.0 + load * (1.0 / speed - 1.0);
    const double drawn = load * x / (speed * time), most = x * peak;
    return (struct adl_power_point){1.0 / time, drawn < most ? drawn : most};
}
