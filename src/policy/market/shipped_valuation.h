/* shipped_valuation: the bytes of models/market.model, built into the program. */
#ifndef ADLRO_POLICY_MARKET_SHIPPED_VALUATION_H
#define ADLRO_POLICY_MARKET_SHIPPED_VALUATION_H

#include <stddef.h>

extern const unsigned char adl_shipped_valuation[];
extern const size_t adl_shipped_valuation_size;

#endif
