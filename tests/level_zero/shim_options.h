// What driver_shim.cc changes, from environment variables.
#ifndef TESTS_LEVEL_ZERO_SHIM_OPTIONS_H_
#define TESTS_LEVEL_ZERO_SHIM_OPTIONS_H_

#include <cstdlib>

struct Options {
  // Every root device after the first: no fp64, a smaller work-group, sub-groups of 8 and 16.
  bool other_has_fp64 = std::getenv("ONEXPU_SHIM_OTHER_NO_FP64") == nullptr;
  bool other_is_integrated = std::getenv("ONEXPU_SHIM_OTHER_INTEGRATED") != nullptr;
  bool first_is_integrated = std::getenv("ONEXPU_SHIM_FIRST_INTEGRATED") != nullptr;
  int other_group = Number("ONEXPU_SHIM_OTHER_GROUP", 0);
  bool other_sub_group_8 = std::getenv("ONEXPU_SHIM_OTHER_SUB_GROUP_8") != nullptr;
  // How much memory the driver reports as free; 0 for a driver that does not say.
  const char* free_memory = std::getenv("ONEXPU_SHIM_FREE_MEMORY");
  // Devices can access each other's memory; with 2, small copies take place.
  int peers = Number("ONEXPU_SHIM_PEERS", 0);
  // Small copies between the host and a device take place, so constants are read back as written.
  bool copies = peers > 1 || std::getenv("ONEXPU_SHIM_COPIES") != nullptr;
  // The 64-bit integers that new host memory holds, in turn. No kernel writes the sizes that
  // TensorFlow reads from it: zeros are valid ones.
  long long host_numbers[2] = {Number("ONEXPU_SHIM_HOST_EVEN", 0),
                               Number("ONEXPU_SHIM_HOST_ODD", 0)};
  // The launch of a kernel with this number, and whatever is asked after it, reports that the
  // device is lost.
  int lost_at = Number("ONEXPU_SHIM_LOST_AT_LAUNCH", -1);
  // Only launches on the device with this index report it, and other devices go on; -1 for all.
  int lost_device = Number("ONEXPU_SHIM_LOST_DEVICE", -1);
  // The driver starts; otherwise it reports that a library or a kernel driver is missing.
  bool starts = std::getenv("ONEXPU_SHIM_NO_START") == nullptr;
  // What a build of a module takes longer.
  int build_ms = Number("ONEXPU_SHIM_BUILD_MS", 0);
  // From the launch with this number on, no event and no queue is ever ready.
  int hangs_at = Number("ONEXPU_SHIM_HANGS_AT_LAUNCH", -1);

  static int Number(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
  }
};

inline const Options& TheOptions() {
  static const Options* const options = new Options;
  return *options;
}

#endif  // TESTS_LEVEL_ZERO_SHIM_OPTIONS_H_
