// syclc: SYCL C++ to SPIR-V at build time, through libsycl-jit. Used by the rule sycl_kernels.
//
//   syclc --source=FILE --include_directory=DIRECTORY --symbol=NAME --output_cc=FILE
//       --output_directory=DIRECTORY LABEL=KERNEL...
//
// Writes LABEL.spv for each kernel, and a C++ file that defines
//   absl::Span<const onexpu::EmbeddedKernel> onexpu::NAME();
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "custom_kernels/kernel_preamble.h"
#include "custom_kernels/sycl_compiler.h"

namespace onexpu {
namespace {

struct Arguments {
  std::string source, include_directory, symbol, output_cc, output_directory;
  std::vector<std::string> labels;
  std::vector<std::string> kernels;
};

absl::StatusOr<Arguments> Parse(int argc, char** argv) {
  Arguments result;
  const std::vector<std::pair<absl::string_view, std::string*>> flags = {
      {"--source=", &result.source},
      {"--include_directory=", &result.include_directory},
      {"--symbol=", &result.symbol},
      {"--output_cc=", &result.output_cc},
      {"--output_directory=", &result.output_directory}};
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    bool is_flag = false;
    for (const auto& [prefix, value] : flags) {
      if (!absl::ConsumePrefix(&argument, prefix)) continue;
      *value = std::string(argument);
      is_flag = true;
    }
    if (is_flag) continue;
    const std::pair<std::string, std::string> kernel =
        absl::StrSplit(argument, absl::MaxSplits('=', 1));
    if (kernel.second.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("syclc: not understood: ", argv[i]));
    }
    result.labels.push_back(kernel.first);
    result.kernels.push_back(kernel.second);
  }
  for (const auto& [prefix, value] : flags) {
    if (value->empty()) return absl::InvalidArgumentError(absl::StrCat("syclc: no ", prefix));
  }
  return result;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("syclc: cannot read ", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

absl::Status WriteFile(const std::string& path, const void* data, size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  if (file.good()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("syclc: cannot write ", path));
}

std::string GenerateSource(const Arguments& arguments, const std::vector<SpirvBinary>& binaries) {
  std::string code =
      "#include <cstdint>\n"
      "#include \"absl/types/span.h\"\n"
      "#include \"custom_kernels/spirv_module.h\"\n\n"
      "namespace onexpu {\nnamespace {\n\n";
  for (size_t i = 0; i < binaries.size(); ++i) {
    absl::StrAppend(&code, "alignas(4) constexpr uint8_t kModule", i, "[] = {");
    for (size_t j = 0; j < binaries[i].spirv.size(); ++j) {
      absl::StrAppend(&code, j % 24 == 0 ? "\n    " : "", int{binaries[i].spirv[j]}, ",");
    }
    absl::StrAppend(&code, "};\n");
  }
  absl::StrAppend(&code, "\nconstexpr EmbeddedKernel kKernels[] = {\n");
  for (size_t i = 0; i < binaries.size(); ++i) {
    absl::StrAppend(&code, "    {\"", arguments.labels[i], "\", \"",
                    binaries[i].entry_points.front(), "\", kModule", i, ", sizeof(kModule", i,
                    ")},\n");
  }
  absl::StrAppend(&code, "};\n\n}  // namespace\n\nabsl::Span<const EmbeddedKernel> ",
                  arguments.symbol, "() { return kKernels; }\n\n}  // namespace onexpu\n");
  return code;
}

absl::Status Run(int argc, char** argv) {
  absl::StatusOr<Arguments> arguments = Parse(argc, argv);
  if (!arguments.ok()) return arguments.status();
  absl::StatusOr<std::string> text = ReadFile(arguments->source);
  if (!text.ok()) return text.status();
  SyclSource source;
  source.source = absl::StrCat(KernelPreamble(arguments->source), *text);
  source.options = {absl::StrCat("-I", arguments->include_directory)};
  source.kernel_names = arguments->kernels;
  absl::StatusOr<std::vector<SpirvBinary>> binaries = CompileSyclSplit(source);
  if (!binaries.ok()) return binaries.status();
  for (size_t i = 0; i < binaries->size(); ++i) {
    const std::vector<uint8_t>& spirv = (*binaries)[i].spirv;
    absl::Status status =
        WriteFile(absl::StrCat(arguments->output_directory, "/", arguments->labels[i], ".spv"),
                  spirv.data(), spirv.size());
    if (!status.ok()) return status;
  }
  const std::string code = GenerateSource(*arguments, *binaries);
  return WriteFile(arguments->output_cc, code.data(), code.size());
}

}  // namespace
}  // namespace onexpu

int main(int argc, char** argv) {
  const absl::Status status = onexpu::Run(argc, argv);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 1;
}
