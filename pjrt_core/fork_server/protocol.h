// The protocol between a client and a fork server.
//
// The server's standard input is a SOCK_SEQPACKET socket. Each message on it carries, as
// SCM_RIGHTS, one end of a fresh stream socket: that stream is one request and its response, and is
// served by a separate process. So requests need no ids, any number may be in flight, and a request
// that crashes closes only its own stream.
//
// On the stream: RequestHeader, options (text), input; then ResponseHeader, payload (the output or
// a message). Both programs come from one build and run on one machine, so plain structs are the
// format. Plain C++17 and POSIX: servers link neither Abseil nor TensorFlow.
#ifndef PJRT_CORE_FORK_SERVER_PROTOCOL_H_
#define PJRT_CORE_FORK_SERVER_PROTOCOL_H_

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace onexpu::fork_server {

// Raised by any change below; each side refuses another version by name.
inline constexpr uint32_t kProtocolMagic = 0x31534650;  // "PFS1"

struct RequestHeader {
  uint32_t magic = kProtocolMagic;
  uint32_t options_size = 0;
  uint64_t input_size = 0;
};

enum class ResponseCode : uint32_t {
  kOk = 0,
  kInvalidInput = 1,  // it does not parse or verify
  kRefused = 2,       // the worker rejected the input and exited normally
  kCrashed = 3,       // a signal that the worker raised ended it
  kInternal = 4,      // the server itself could not do its part
  kTimedOut = 5,      // it was ended because it took too long
};

struct ResponseHeader {
  uint32_t magic = kProtocolMagic;
  ResponseCode code = ResponseCode::kInternal;
  uint64_t payload_size = 0;
};

// A message of one byte with room for a descriptor.
struct DescriptorMessage {
  DescriptorMessage() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = ancillary;
    header.msg_controllen = sizeof(ancillary);
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
};

inline bool SendDescriptor(int control, int descriptor) {
  DescriptorMessage message;
  cmsghdr* ancillary = CMSG_FIRSTHDR(&message.header);
  ancillary->cmsg_level = SOL_SOCKET;
  ancillary->cmsg_type = SCM_RIGHTS;
  ancillary->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(ancillary), &descriptor, sizeof(descriptor));
  ssize_t sent;
  do {
    sent = ::sendmsg(control, &message.header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

// The descriptor that came with the next message; -1 at the end of the conversation, -2 for a
// message without one.
inline int ReceiveDescriptor(int control) {
  DescriptorMessage message;
  ssize_t count;
  do {
    count = ::recvmsg(control, &message.header, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return -1;
  const cmsghdr* ancillary = CMSG_FIRSTHDR(&message.header);
  if (ancillary == nullptr || ancillary->cmsg_type != SCM_RIGHTS) return -2;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(ancillary), sizeof(descriptor));
  return descriptor;
}

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

}  // namespace onexpu::fork_server

#endif  // PJRT_CORE_FORK_SERVER_PROTOCOL_H_
