#include "pjrt_core/base/environment.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace onexpu {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : std::string(absl::StripAsciiWhitespace(value));
}

absl::Status BadValue(absl::string_view name, absl::string_view value, absl::string_view takes) {
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: ", name, "=", value, " is not understood: it takes ", takes));
}

// The choice's index among auto and the two others.
absl::StatusOr<int> AutoOr(const char* name, absl::string_view one, absl::string_view two) {
  const std::string value = absl::AsciiStrToLower(Variable(name));
  if (value.empty() || value == "auto") return 0;
  if (value == one) return 1;
  if (value == two) return 2;
  return BadValue(name, value, absl::StrCat("auto, ", one, " or ", two));
}

// The first number of a file, or of the line that starts with `key`.
std::optional<uint64_t> NumberInFile(const char* path, absl::string_view key = "") {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    absl::string_view rest = line;
    if (!key.empty() && !absl::ConsumePrefix(&rest, key)) continue;
    rest = absl::StripAsciiWhitespace(rest);
    rest = rest.substr(0, rest.find(' '));
    uint64_t number;
    if (absl::SimpleAtoi(rest, &number)) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<int>> PositiveFromEnvironment(const char* name) {
  const std::string value = Variable(name);
  if (value.empty()) return std::optional<int>();
  int number;
  if (!absl::SimpleAtoi(value, &number) || number < 1) {
    return BadValue(name, value, "a positive number");
  }
  return number;
}

// Between lines on stderr; infinite for none.
absl::StatusOr<absl::Duration> IntervalFromEnvironment(const char* name, absl::Duration otherwise) {
  const std::string value = Variable(name);
  if (value.empty()) return otherwise;
  double seconds;
  if (!absl::SimpleAtod(value, &seconds) || !(seconds >= 0)) {
    return BadValue(name, value, "a number of seconds, or 0 for no lines");
  }
  return seconds == 0 ? absl::InfiniteDuration() : absl::Seconds(seconds);
}

absl::StatusOr<bool> SwitchFromEnvironment(const char* name, bool otherwise = false) {
  const std::string value = Variable(name);
  if (value.empty()) return otherwise;
  if (value == "0") return false;
  if (value == "1") return true;
  return BadValue(name, value, "0 or 1");
}

absl::StatusOr<std::optional<size_t>> BytesFromEnvironment(const char* name) {
  const std::string value = Variable(name);
  if (value.empty()) return std::optional<size_t>();
  absl::string_view digits = value;
  int shift = 0;
  if (absl::EndsWithIgnoreCase(digits, "B")) digits.remove_suffix(1);
  constexpr absl::string_view kSuffixes = "KMGT";
  if (!digits.empty()) {
    const size_t suffix = kSuffixes.find(absl::ascii_toupper(digits.back()));
    if (suffix != absl::string_view::npos) {
      shift = 10 * (static_cast<int>(suffix) + 1);
      digits.remove_suffix(1);
    }
  }
  uint64_t number;
  if (!absl::SimpleAtoi(digits, &number) || number == 0 ||
      number > (std::numeric_limits<uint64_t>::max() >> shift)) {
    return BadValue(name, value, "bytes, or a number with K, M, G or T");
  }
  return std::optional<size_t>(number << shift);
}

}  // namespace

absl::StatusOr<DeviceChoice> DeviceChoiceFromEnvironment() {
  absl::StatusOr<int> choice = AutoOr("ONEXPU_DEVICE", "gpu", "cpu");
  if (!choice.ok()) return choice.status();
  return static_cast<DeviceChoice>(*choice);
}

absl::StatusOr<ScheduleChoice> ScheduleChoiceFromEnvironment() {
  absl::StatusOr<int> choice = AutoOr("ONEXPU_SCHEDULES", "gpu", "cpu");
  if (!choice.ok()) return choice.status();
  return static_cast<ScheduleChoice>(*choice);
}

absl::StatusOr<Fp64Choice> Fp64ChoiceFromEnvironment() {
  absl::StatusOr<int> choice = AutoOr("ONEXPU_FP64", "emulate", "refuse");
  if (!choice.ok()) return choice.status();
  return static_cast<Fp64Choice>(*choice);
}

absl::StatusOr<SmallWorkChoice> SmallWorkChoiceFromEnvironment() {
  absl::StatusOr<int> choice = AutoOr("ONEXPU_SMALL_WORK", "caller", "device");
  if (!choice.ok()) return choice.status();
  return static_cast<SmallWorkChoice>(*choice);
}

absl::StatusOr<std::optional<int>> NumCpuDevicesFromEnvironment() {
  return PositiveFromEnvironment("ONEXPU_NUM_CPU_DEVICES");
}

absl::StatusOr<std::optional<size_t>> MemoryLimitFromEnvironment() {
  return BytesFromEnvironment("ONEXPU_MEMORY_LIMIT");
}

absl::StatusOr<std::optional<MemoryFraction>> MemoryFractionFromEnvironment() {
  constexpr const char* kNames[] = {"XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"};
  std::optional<MemoryFraction> result;
  for (const char* name : kNames) {
    const std::string value = Variable(name);
    if (value.empty()) continue;
    if (result.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: both ", kNames[0], " and ", kNames[1],
                                                     " are set. Remove the second, older name."));
    }
    double share;
    if (!absl::SimpleAtod(value, &share) || !(share > 0 && share <= 1)) {
      return BadValue(name, value, "a number above 0 and up to 1");
    }
    result = MemoryFraction{share, name};
  }
  return result;
}

absl::StatusOr<CacheLimits> CacheLimitsFromEnvironment() {
  constexpr uint64_t kDefaultBytes = uint64_t{2} << 30;
  constexpr int kDefaultDays = 90, kSecondsOfADay = 24 * 3600;
  absl::StatusOr<std::optional<size_t>> bytes = BytesFromEnvironment("ONEXPU_CACHE_LIMIT");
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<std::optional<int>> days = PositiveFromEnvironment("ONEXPU_CACHE_DAYS");
  if (!days.ok()) return days.status();
  return CacheLimits{.bytes = bytes->value_or(kDefaultBytes),
                     .seconds = int64_t{days->value_or(kDefaultDays)} * kSecondsOfADay};
}

absl::StatusOr<bool> KernelChecksFromEnvironment() {
  return SwitchFromEnvironment("ONEXPU_KERNEL_CHECKS");
}

absl::StatusOr<bool> DeterministicFromEnvironment() {
  return SwitchFromEnvironment("ONEXPU_DETERMINISTIC");
}

absl::StatusOr<bool> ProgramCacheFromEnvironment() {
  return SwitchFromEnvironment("ONEXPU_PROGRAM_CACHE", true);
}

absl::StatusOr<bool> ExactDivisionFromEnvironment() {
  return SwitchFromEnvironment("ONEXPU_EXACT_DIVISION");
}

absl::StatusOr<bool> PeerCopiesFromEnvironment() {
  constexpr char kName[] = "ONEXPU_PEER_COPIES";
  const std::string value = absl::AsciiStrToLower(Variable(kName));
  if (value.empty() || value == "auto") return true;
  if (value == "never") return false;
  return BadValue(kName, value, "auto or never");
}

absl::StatusOr<int> BuildThreadsFromEnvironment() {
  const absl::StatusOr<std::optional<int>> threads =
      PositiveFromEnvironment("ONEXPU_BUILD_THREADS");
  if (!threads.ok()) return threads.status();
  const int cores = std::max<int>(1, static_cast<int>(std::thread::hardware_concurrency()));
  return threads->value_or(std::min(kMaxBuildThreads, cores));
}

absl::StatusOr<absl::Duration> BuildProgressFromEnvironment() {
  return IntervalFromEnvironment("ONEXPU_BUILD_PROGRESS_SECONDS", kDefaultBuildProgress);
}

absl::StatusOr<absl::Duration> WaitReportFromEnvironment() {
  return IntervalFromEnvironment("ONEXPU_WAIT_REPORT_SECONDS", kDefaultWaitReport);
}

std::string LibraryDirectory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&LibraryDirectory), &info) == 0 ||
      info.dli_fname == nullptr) {
    return ".";
  }
  const absl::string_view path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return std::string(slash == absl::string_view::npos ? "." : path.substr(0, slash));
}

std::string CacheDirectory() {
  if (std::string value = Variable("ONEXPU_CACHE_DIR"); !value.empty()) return value;
  if (std::string value = Variable("XDG_CACHE_HOME"); !value.empty()) return value + "/onexpu";
  if (std::string value = Variable("HOME"); !value.empty()) return value + "/.cache/onexpu";
  return "";
}

size_t HostMemoryBytes() {
  uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (std::optional<uint64_t> limit = NumberInFile(path)) bytes = std::min(bytes, *limit);
  }
  return bytes;
}

size_t AvailableHostMemoryBytes() {
  const uint64_t total = HostMemoryBytes();
  uint64_t available = total;
  if (std::optional<uint64_t> kib = NumberInFile("/proc/meminfo", "MemAvailable:")) {
    available = std::min(available, *kib << 10);
  }
  if (std::optional<uint64_t> used = NumberInFile("/sys/fs/cgroup/memory.current")) {
    available = std::min(available, total > *used ? total - *used : 0);
  }
  return available;
}

}  // namespace onexpu
