// Which values of ONEAPI_DEVICE_SELECTOR are the user's choice of single devices.
#include "pjrt_core/runtime/sycl_device/discovery/gpu_selection.h"

#include "gtest/gtest.h"

namespace onexpu {
namespace {

TEST(SelectsByOrdinal, OrdinalsAndTiles) {
  for (const char* selector :
       {"level_zero:0", "level_zero:0,1", "level_zero:0;level_zero:1", "LEVEL_ZERO:1", "*:0,2",
        " level_zero : 0 , 1 ", "level_zero:0.1,1.*", "level_zero:0,1;opencl:cpu",
        "level_zero:1;"}) {
    EXPECT_TRUE(SelectsByOrdinal(selector)) << selector;
  }
}

TEST(SelectsByOrdinal, KindsOfDevices) {
  for (const char* selector :
       {"", ";", "*", "*:*", "*:gpu", "level_zero:*", "level_zero:gpu", "level_zero",
        "level_zero:", "level_zero:0,gpu", "level_zero:0;level_zero:gpu", "opencl:0", "opencl:cpu",
        "!level_zero:0", "!*:1", "level_zero:0,"}) {
    EXPECT_FALSE(SelectsByOrdinal(selector)) << selector;
  }
}

}  // namespace
}  // namespace onexpu
