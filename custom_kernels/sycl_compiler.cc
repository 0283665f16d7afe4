#include "custom_kernels/sycl_compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "custom_kernels/header_options.h"
#include "custom_kernels/included_files.h"
#include "custom_kernels/kernel_preamble.h"
#include "custom_kernels/spirv_binary.h"
#include "custom_kernels/spirv_cache.h"
#include "sycl/sycl.hpp"

namespace onexpu {
namespace {

namespace syclexp = sycl::ext::oneapi::experimental;

// libsycl-jit keeps state per process; compilations do not run side by side.
ABSL_CONST_INIT absl::Mutex compiler_mutex(absl::kConstInit);

// Names the compiler: libsycl-jit lies beside libsycl, and another one has another size or date.
std::string CompilerVersion() {
  void (*const in_libsycl)(void*, const sycl::context&, const sycl::detail::code_location&) =
      &sycl::free;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(in_libsycl), &info) == 0) return "";
  const auto path = std::filesystem::path(info.dli_fname).parent_path() / "libsycl-jit.so";
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  const auto time = std::filesystem::last_write_time(path, error);
  return absl::StrCat(size, ".", time.time_since_epoch().count());
}

std::string CacheKey(const SyclSource& source) {
  std::string key = absl::StrCat(CompilerVersion(), "\n");
  for (const std::string& option : source.options) absl::StrAppend(&key, option, "\n");
  absl::StrAppend(&key, "--\n");
  for (const std::string& name : source.kernel_names) absl::StrAppend(&key, name, "\n");
  absl::StrAppend(&key, "--\n", source.source);
  const std::string files = DescribeIncludedFiles(source.source, source.options);
  if (!files.empty()) absl::StrAppend(&key, "--\n", files);
  return key;
}

std::vector<std::string> Options(const SyclSource& source, absl::string_view split,
                                 const std::string& cache_directory) {
  std::vector<std::string> options = {
      absl::StrCat("-fsycl-device-code-split=", split),
      // Callers bind arguments by position: none may disappear.
      "-fno-sycl-dead-args-optimization",
      // a * b + c rounds twice, as it does in XLA's programs.
      "-ffp-contract=off",
  };
  if (!cache_directory.empty()) {
    // Clang rejects the precompiled headers of another version, which libsycl-jit does not name
    // them by.
    options.push_back(
        absl::StrCat("--persistent-auto-pch=", cache_directory, "/pch/", CompilerVersion()));
  }
  options.insert(options.end(), source.options.begin(), source.options.end());
  return options;
}

absl::Status Diagnose(const sycl::exception& error, const std::string& log,
                      const SyclSource& source) {
  std::string text = RestoreSourceLocations(error.what(), source.source);
  if (!log.empty() && !absl::StrContains(text, log)) absl::StrAppend(&text, "\n", log);
  absl::string_view message = text;
  absl::ConsumePrefix(&message, "Device compilation failed\nDetailed information:\n");
  const absl::StatusCode code =
      error.code() == sycl::errc::build || error.code() == sycl::errc::invalid
          ? absl::StatusCode::kInvalidArgument
          : absl::StatusCode::kInternal;
  return absl::Status(code, absl::StrCat("onexpu: the SYCL source does not compile:\n",
                                         absl::StripTrailingAsciiWhitespace(message)));
}

std::vector<uint8_t> Bytes(const std::vector<std::byte>& content) {
  std::vector<uint8_t> bytes(content.size());
  if (!content.empty()) std::memcpy(bytes.data(), content.data(), content.size());
  return bytes;
}

// A kernel whose image is not exactly one has called a library function that exists in no SPIR-V of
// ours.
absl::StatusOr<SpirvBinary> CompileToOneModule(const SyclSource& source,
                                               const std::string& cache_directory) {
  std::string log;
  absl::MutexLock lock(&compiler_mutex);
  try {
    const sycl::context context{sycl::device()};
    auto bundle = syclexp::create_kernel_bundle_from_source(context, syclexp::source_language::sycl,
                                                            source.source);
    auto object = syclexp::compile(
        bundle, syclexp::properties{syclexp::build_options{Options(source, "off", cache_directory)},
                                    syclexp::save_log{&log},
                                    syclexp::registered_names{source.kernel_names}});
    auto executable = sycl::link(object);
    if (std::distance(executable.begin(), executable.end()) != 1) {
      return absl::InternalError("onexpu: libsycl-jit did not link the kernels into one module");
    }
    SpirvBinary binary;
    binary.spirv = Bytes(executable.begin()->ext_oneapi_get_backend_content());
    for (const std::string& name : source.kernel_names) {
      if (!executable.ext_oneapi_has_kernel(name)) {
        return absl::InvalidArgumentError(
            absl::StrCat("onexpu: the SYCL source has no kernel '", name,
                         "' (is it declared ONEXPU_KERNEL, with its namespace in the name?)"));
      }
      binary.entry_points.push_back(executable.ext_oneapi_get_raw_kernel_name(name));
    }
    return binary;
  } catch (const sycl::exception& error) {
    return Diagnose(error, log, source);
  }
}

absl::Status CheckEntryPoints(const SpirvBinary& binary) {
  absl::StatusOr<std::vector<std::string>> names = SpirvEntryPoints(binary.spirv);
  if (!names.ok()) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: the SYCL source needs device libraries that cannot be exported as ",
                     "SPIR-V (sycl::ext::oneapi::bfloat16 does: use onexpu::bfloat16): ",
                     names.status().message()));
  }
  for (const std::string& name : binary.entry_points) {
    if (std::find(names->begin(), names->end(), name) == names->end()) {
      return absl::InternalError(absl::StrCat("onexpu: kernel '", name, "' is not in its module"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SpirvBinary> CompileSycl(const SyclSource& given, const std::string& cache_directory,
                                        const CacheLimits& limits) {
  HeaderOptions options = SplitHeaderOptions(given.options);
  const SyclSource source = {InsertBehindHeaders(given.source, options.for_source),
                             std::move(options.for_headers), given.kernel_names};
  if (source.kernel_names.empty()) {
    return absl::InvalidArgumentError("onexpu: compiling SYCL needs the name of a kernel");
  }
  const std::string directory =
      cache_directory.empty() ? "" : absl::StrCat(cache_directory, "/sycl");
  const SpirvCache cache(cache_directory);
  const std::string key = CacheKey(source);
  std::optional<SpirvBinary> cached = cache.Read(key);
  if (cached.has_value() && CheckEntryPoints(*cached).ok()) return *std::move(cached);

  absl::StatusOr<SpirvBinary> binary = CompileToOneModule(source, directory);
  if (!binary.ok()) return binary.status();
  absl::Status check = CheckEntryPoints(*binary);
  if (!check.ok()) return check;
  cache.Write(key, *binary);
  // Precompiled headers may have been written, too. Next to a compilation, looking takes no time.
  if (!cache_directory.empty()) PruneCache(cache_directory, limits);
  return binary;
}

absl::StatusOr<std::vector<SpirvBinary>> CompileSyclSplit(const SyclSource& source) {
  std::string log;
  absl::MutexLock lock(&compiler_mutex);
  try {
    const sycl::context context{sycl::device()};
    auto bundle = syclexp::create_kernel_bundle_from_source(context, syclexp::source_language::sycl,
                                                            source.source);
    // Linking would merge the images; building keeps them apart.
    auto executable = syclexp::build(
        bundle, syclexp::properties{syclexp::build_options{Options(source, "per_kernel", "")},
                                    syclexp::save_log{&log},
                                    syclexp::registered_names{source.kernel_names}});
    std::vector<SpirvBinary> binaries(source.kernel_names.size());
    for (size_t i = 0; i < binaries.size(); ++i) {
      binaries[i].entry_points = {
          executable.ext_oneapi_get_raw_kernel_name(source.kernel_names[i])};
    }
    for (const auto& image : executable) {
      std::vector<uint8_t> spirv = Bytes(image.ext_oneapi_get_backend_content());
      absl::StatusOr<std::vector<std::string>> names = SpirvEntryPoints(spirv);
      if (!names.ok()) return names.status();
      for (SpirvBinary& binary : binaries) {
        if (binary.entry_points == *names) binary.spirv = spirv;
      }
    }
    for (const SpirvBinary& binary : binaries) {
      absl::Status check = CheckEntryPoints(binary);
      if (!check.ok()) return check;
    }
    return binaries;
  } catch (const sycl::exception& error) {
    return Diagnose(error, log, source);
  }
}

}  // namespace onexpu
