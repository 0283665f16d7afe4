#include <onexpu/custom_kernel.h>
