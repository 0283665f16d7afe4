#include "pjrt_core/target/known_targets.h"

namespace onexpu {
namespace {

constexpr uint64_t kKib = 1024;
// The driver reports a little less.
constexpr uint64_t kFourGib = uint64_t{4} << 30;

}  // namespace

// Compute units are from the vendor's specifications. Limits, sub-group sizes and fp64 are what the
// driver reports for the device in software (docs/gpu.md, compute-runtime 26.27).
const std::vector<KnownTarget>& KnownTargets() {
  static const auto* const targets = new std::vector<KnownTarget>{
      // The features of every CPU device: a program for this target runs on all of them.
      {"cpu", "oneAPI CPU device", {}, 8, 1024, 32 * kKib, {4, 8, 16}, Fp64::kNative, false, 0},
      {"pvc",
       "Intel Data Center GPU Max 1550",
       {{12, 60}, {12, 61}},
       512,
       1024,
       128 * kKib,
       {16, 32},
       Fp64::kNative,
       true,
       0},
      {"dg2",
       "Intel Arc A770 Graphics",
       {{12, 55}, {12, 56}, {12, 57}},
       512,
       512,
       64 * kKib,
       {8, 16, 32},
       Fp64::kEmulated,
       true,
       kFourGib},
      {"mtl",
       "Intel Core Ultra 7 155H Graphics",
       {{12, 70}, {12, 71}},
       128,
       512,
       64 * kKib,
       {8, 16, 32},
       Fp64::kNative,
       true,
       kFourGib},
      {"arl",
       "Intel Core Ultra 9 285H Graphics",
       {{12, 74}},
       128,
       512,
       64 * kKib,
       {8, 16, 32},
       Fp64::kNative,
       true,
       kFourGib},
      {"bmg",
       "Intel Arc B580 Graphics",
       {{20, 1}, {20, 2}},
       160,
       1024,
       128 * kKib,
       {16, 32},
       Fp64::kNative,
       true,
       0},
      {"lnl",
       "Intel Arc 140V Graphics",
       {{20, 4}},
       64,
       1024,
       128 * kKib,
       {16, 32},
       Fp64::kNative,
       true,
       0},
      {"ptl",
       "Intel Arc B390 Graphics",
       {{30, 0}, {30, 1}},
       96,
       1024,
       128 * kKib,
       {16, 32},
       Fp64::kNative,
       true,
       0},
      // Integrated GPUs of the 11th to 14th generation. The driver offers emulation, but it was
      // reported to hang there.
      {"tgl",
       "Intel Iris Xe Graphics",
       {{12, 0}, {12, 1}, {12, 2}, {12, 3}, {12, 4}},
       96,
       512,
       64 * kKib,
       {8, 16, 32},
       Fp64::kNone,
       true,
       kFourGib},
  };
  return *targets;
}

const KnownTarget* FindKnownTarget(std::string_view name) {
  for (const KnownTarget& target : KnownTargets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

const KnownTarget* FindKnownTarget(const IpVersion& version) {
  for (const KnownTarget& target : KnownTargets()) {
    for (const IpVersion& known : target.ip_versions) {
      if (known.architecture == version.architecture && known.release == version.release) {
        return &target;
      }
    }
  }
  return nullptr;
}

}  // namespace onexpu
