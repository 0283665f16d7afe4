// Small copies that take place although the driver's software devices copy nothing: the contents
// of device memory are kept on the host. For driver_shim.cc.
#ifndef TESTS_LEVEL_ZERO_SHIM_COPIES_H_
#define TESTS_LEVEL_ZERO_SHIM_COPIES_H_

#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

class SmallCopies {
 public:
  void AddDeviceMemory(const void* start, size_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    device_memory_[static_cast<const char*>(start)] = size;
  }

  // The driver gives addresses to other memory later, of the host, too, and in other sizes.
  void RemoveDeviceMemory(const void* start) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto memory = device_memory_.find(static_cast<const char*>(start));
    if (memory == device_memory_.end()) return;
    contents_.erase(contents_.lower_bound(memory->first),
                    contents_.lower_bound(memory->first + memory->second));
    device_memory_.erase(memory);
  }

  // Contents are known by the address that they were copied to.
  void Copy(void* to, const void* from, size_t size) {
    if (size > kMaxBytes) return;
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<char> bytes(size);
    if (!IsOnDevice(from)) {
      std::memcpy(bytes.data(), from, size);
    } else if (auto found = contents_.find(from);
               found != contents_.end() && found->second.size() >= size) {
      std::memcpy(bytes.data(), found->second.data(), size);
    } else {
      return;
    }
    if (IsOnDevice(to)) {
      contents_[to] = std::move(bytes);
    } else {
      std::memcpy(to, bytes.data(), size);
    }
  }

 private:
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  bool IsOnDevice(const void* address) const {
    auto after = device_memory_.upper_bound(static_cast<const char*>(address));
    if (after == device_memory_.begin()) return false;
    --after;
    return static_cast<const char*>(address) < after->first + after->second;
  }

  std::mutex mutex_;
  std::map<const char*, size_t> device_memory_;
  std::map<const void*, std::vector<char>> contents_;
};

#endif  // TESTS_LEVEL_ZERO_SHIM_COPIES_H_
