// Keeps flags in XLA_FLAGS that only jaxlib knows from ending a process that TensorFlow shares with
// JAX.
//
// XLA_FLAGS serves both frameworks, but TensorFlow's XLA parses it once, at its first use, and ends
// the process at a flag that it does not know. Here TensorFlow's XLA is made to parse early, at
// plugin initialisation, and sees only the flags that it knows. The variable itself is as before
// afterwards, for jaxlib.
#ifndef TF_PLUGIN_CORE_XLA_FLAGS_H_
#define TF_PLUGIN_CORE_XLA_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onexpu::tf_plugin {

// One flag: as it was written, and as its reader sees it (quotes around the value taken away).
struct FlagWord {
  std::string written;
  std::string value;
};

// Splits as XLA does: white space separates, a value may stand in single quotes, or in double
// quotes with backslashes.
std::vector<FlagWord> SplitFlags(absl::string_view flags);

// The flags that `is_known` accepts, as one string; the others are appended to `*dropped`.
std::string KeepKnownFlags(absl::string_view flags,
                           const std::function<bool(const std::string& value)>& is_known,
                           std::vector<std::string>* dropped);

// Call once, before TensorFlow's XLA is used, while no other thread changes the environment.
void ParseXlaFlagsKnownToTensorFlow();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CORE_XLA_FLAGS_H_
