// What the compiler library and the program `onexpu-spirv` say to each other.
//
// The worker's standard input is a SOCK_SEQPACKET socket. Each message on it carries, as
// SCM_RIGHTS, one end of a fresh stream socket: that stream is one request and its response, and is
// served by a process of its own. So requests need no numbers, any number may be in flight, and a
// request that dies closes nobody's stream but its own.
//
// On the stream: RequestHeader, extensions (text), bitcode; then ResponseHeader, payload (SPIR-V,
// or a message). Both programs come out of one build and run on one machine, so plain structs are
// the format. Plain C++17 and POSIX: the worker links neither Abseil nor TensorFlow.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_PROTOCOL_H_
#define PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_PROTOCOL_H_

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

namespace onexpu::compiler::spirv_worker {

// Raised by any change below; each side refuses another version by name.
inline constexpr uint32_t kProtocolMagic = 0x31535850;  // "PXS1"

struct RequestHeader {
  uint32_t magic = kProtocolMagic;
  uint32_t extensions_size = 0;  // the value of --spirv-ext, empty for none
  uint64_t bitcode_size = 0;
};

enum class ResponseCode : uint32_t {
  kOk = 0,
  kInvalidModule = 1,  // the bitcode does not parse or verify
  kRefused = 2,        // the back end said no and ended orderly
  kCrashed = 3,        // the back end was ended by a signal
  kInternal = 4,       // the worker itself could not do its part
};

struct ResponseHeader {
  uint32_t magic = kProtocolMagic;
  ResponseCode code = ResponseCode::kInternal;
  uint64_t payload_size = 0;
};

// Sends all of `size` bytes to a socket; false when the peer is gone. Never raises SIGPIPE.
inline bool SendAll(int socket, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, next, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    next += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

// Reads exactly `size` bytes; false at an early end or error.
inline bool ReceiveAll(int socket, void* data, size_t size) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = ::read(socket, next, size);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    next += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

inline bool SendResponse(int socket, ResponseCode code, const std::string& payload) {
  ResponseHeader header;
  header.code = code;
  header.payload_size = payload.size();
  return SendAll(socket, &header, sizeof(header)) &&
         SendAll(socket, payload.data(), payload.size());
}

}  // namespace onexpu::compiler::spirv_worker

#endif  // PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_PROTOCOL_H_
