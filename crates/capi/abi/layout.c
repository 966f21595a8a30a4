/* The layout that programs were compiled with, on 64-bit processors. What fails here breaks them: raise PCC_ABI and the soname. */
#include <pcc.h>

#define OFFSET(member, bytes) _Static_assert(offsetof(struct pcc_config, member) == bytes, #member)

OFFSET(size, 0);
OFFSET(seed, 8);
OFFSET(max_rate, 16);
OFFSET(max_datagram_size, 24);
OFFSET(reserved, 28);
OFFSET(utility, 32);
_Static_assert(sizeof(struct pcc_config) == 40, "struct pcc_config");
_Static_assert(offsetof(struct pcc_rtt_times, smoothed) == 0, "smoothed");
_Static_assert(offsetof(struct pcc_rtt_times, least) == 8, "least");
_Static_assert(sizeof(struct pcc_rtt_times) == 16, "struct pcc_rtt_times");
_Static_assert(sizeof(pcc_status) == 4 && sizeof(pcc_limit) == 4, "enumerations");
_Static_assert(PCC_OK == 0 && PCC_NULL == -1 && PCC_INVALID == -2 && PCC_POISONED == -3, "pcc_status");
_Static_assert(PCC_LIMIT_APPLICATION == 1 && PCC_LIMIT_RECEIVER == 2 && PCC_LIMIT_HOST == 3, "pcc_limit");
_Static_assert(PCC_ABI == 0, "PCC_ABI");
