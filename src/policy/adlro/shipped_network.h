/* shipped_network: the bytes of models/adlro.model, built into the program. */
#ifndef ADLRO_POLICY_ADLRO_SHIPPED_NETWORK_H
#define ADLRO_POLICY_ADLRO_SHIPPED_NETWORK_H

#include <stddef.h>

extern const unsigned char adl_shipped_network[];
extern const size_t adl_shipped_network_size;

#endif
