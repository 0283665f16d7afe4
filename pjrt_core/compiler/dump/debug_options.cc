#include "pjrt_core/compiler/dump/debug_options.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/dump/xla_flags.h"
#include "xla/debug_options_flags.h"
#include "xla/xla.pb.h"

namespace onexpu::compiler {
namespace {

// A flag and the member that its value sets. Other flags in the variable belong to other readers.
struct TextFlag {
  absl::string_view name;
  void (*set)(xla::DebugOptions&, const std::string&);
};

constexpr TextFlag kTextFlags[] = {
    {"xla_dump_to", [](xla::DebugOptions& o, const std::string& v) { o.set_xla_dump_to(v); }},
    {"xla_dump_hlo_module_re",
     [](xla::DebugOptions& o, const std::string& v) { o.set_xla_dump_hlo_module_re(v); }},
    {"xla_dump_hlo_pass_re",
     [](xla::DebugOptions& o, const std::string& v) { o.set_xla_dump_hlo_pass_re(v); }},
};

struct SwitchFlag {
  absl::string_view name;
  void (xla::DebugOptions::*set)(bool);
};

constexpr SwitchFlag kSwitchFlags[] = {
    {"xla_allow_excess_precision", &xla::DebugOptions::set_xla_allow_excess_precision},
    {"xla_gpu_deterministic_ops", &xla::DebugOptions::set_xla_gpu_deterministic_ops},
    {"xla_gpu_exclude_nondeterministic_ops", &xla::DebugOptions::set_xla_gpu_deterministic_ops},
    {"xla_dump_hlo_as_text", &xla::DebugOptions::set_xla_dump_hlo_as_text},
    {"xla_dump_hlo_as_proto", &xla::DebugOptions::set_xla_dump_hlo_as_proto},
    {"xla_dump_hlo_as_dot", &xla::DebugOptions::set_xla_dump_hlo_as_dot},
    {"xla_dump_hlo_as_html", &xla::DebugOptions::set_xla_dump_hlo_as_html},
    {"xla_dump_hlo_as_long_text", &xla::DebugOptions::set_xla_dump_hlo_as_long_text},
    {"xla_dump_include_timestamp", &xla::DebugOptions::set_xla_dump_include_timestamp},
};

void ApplyFlag(absl::string_view name, const std::string& value, xla::DebugOptions& options) {
  for (const TextFlag& flag : kTextFlags) {
    if (flag.name == name) return flag.set(options, value);
  }
  const std::string lower = absl::AsciiStrToLower(value);
  for (const SwitchFlag& flag : kSwitchFlags) {
    if (flag.name == name) return (options.*flag.set)(lower != "false" && lower != "0");
  }
}

// The list is meant for whichever XLA reads it: what this pipeline cannot do without stays on.
bool IsOptionalPass(absl::string_view name) {
  static constexpr absl::string_view kOptional[] = {"algsimp", "constant_folding", "cse",
                                                    "reshape-mover"};
  return absl::c_linear_search(kOptional, name);
}

void ApplyRequested(const xla::DebugOptions& requested, xla::DebugOptions& options) {
  if (!requested.xla_dump_to().empty()) options.set_xla_dump_to(requested.xla_dump_to());
  if (!requested.xla_dump_hlo_module_re().empty()) {
    options.set_xla_dump_hlo_module_re(requested.xla_dump_hlo_module_re());
  }
  if (!requested.xla_dump_hlo_pass_re().empty()) {
    options.set_xla_dump_hlo_pass_re(requested.xla_dump_hlo_pass_re());
  }
  if (requested.xla_gpu_deterministic_ops() || requested.xla_gpu_exclude_nondeterministic_ops()) {
    options.set_xla_gpu_deterministic_ops(true);
  }
  if (requested.xla_dump_hlo_as_proto()) options.set_xla_dump_hlo_as_proto(true);
  if (requested.xla_dump_hlo_as_dot()) options.set_xla_dump_hlo_as_dot(true);
  if (requested.xla_dump_hlo_as_html()) options.set_xla_dump_hlo_as_html(true);
  for (const std::string& pass : requested.xla_disable_hlo_passes()) {
    if (IsOptionalPass(pass)) options.add_xla_disable_hlo_passes(pass);
  }
}

}  // namespace

xla::DebugOptions MakeDebugOptions(absl::string_view flags, const xla::DebugOptions& requested) {
  xla::DebugOptions options = xla::DefaultDebugOptionsIgnoringFlags();
  for (const std::string& token : SplitFlags(flags)) {
    absl::string_view flag = token;
    while (!flag.empty() && flag[0] == '-') flag.remove_prefix(1);
    const size_t equals = flag.find('=');
    const absl::string_view value = equals == flag.npos ? "true" : flag.substr(equals + 1);
    ApplyFlag(flag.substr(0, equals), std::string(value), options);
  }
  ApplyRequested(requested, options);
  const bool any_format = options.xla_dump_hlo_as_proto() || options.xla_dump_hlo_as_dot() ||
                          options.xla_dump_hlo_as_html();
  if (!options.xla_dump_to().empty() && !any_format) options.set_xla_dump_hlo_as_text(true);
  return options;
}

}  // namespace onexpu::compiler
