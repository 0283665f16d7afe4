// The records of driver_shim.cc: one JSON object a line, in the file that ONEXPU_SHIM_LOG names.
#ifndef TESTS_LEVEL_ZERO_SHIM_RECORDS_H_
#define TESTS_LEVEL_ZERO_SHIM_RECORDS_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

inline int LogFile() {
  static const int file = [] {
    const char* path = std::getenv("ONEXPU_SHIM_LOG");
    return path == nullptr ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  }();
  return file;
}

__attribute__((format(printf, 1, 2))) inline void Record(const char* format, ...) {
  if (LogFile() < 0) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  if (size < 0 || size >= static_cast<int>(sizeof line) - 1) return;
  line[size] = '\n';
  // One write for a line: threads and processes share the file.
  if (write(LogFile(), line, size + 1) < 0) return;
}

inline std::string Quoted(const char* text) {
  std::string quoted = "\"";
  for (const char* at = text == nullptr ? "" : text; *at != '\0' && quoted.size() < 400; ++at) {
    if (*at == '"' || *at == '\\') quoted += '\\';
    if (static_cast<unsigned char>(*at) >= ' ') quoted += *at;
  }
  return quoted + '"';
}

#endif  // TESTS_LEVEL_ZERO_SHIM_RECORDS_H_
