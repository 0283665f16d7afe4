// The client of a fork server.
//
// One object per server program and process, created at the first use and never released, except
// for those that SendTwice creates. Thread-safe: requests run concurrently, each in its own
// process. The server is started lazily, restarted after it has died, and started anew in a process
// that was forked from ours.
#ifndef PJRT_CORE_FORK_SERVER_CLIENT_H_
#define PJRT_CORE_FORK_SERVER_CLIENT_H_

#include <sys/types.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/fork_server/protocol.h"

namespace onexpu::fork_server {

struct Response {
  ResponseCode code = ResponseCode::kInternal;
  std::string payload;  // the result, or a message
};

class Client {
 public:
  // The client of the server program at `path`.
  static Client& ForProgram(absl::string_view path);

  // Starts the server if there is none that serves this process, without waiting for it. NOT_FOUND
  // when it cannot be started.
  absl::Status Start();

  // One request. Errors are those of the way to the server: NOT_FOUND when it cannot be started,
  // UNAVAILABLE when it dies again and again. What became of the work is in the response.
  absl::StatusOr<Response> Send(absl::string_view input, absl::string_view options);

  // The same, but work that crashed is tried once more, in a server of its own: a fault that hangs
  // on where memory lies would come again in any process that this one's server forks.
  absl::StatusOr<Response> SendTwice(absl::string_view input, absl::string_view options);

 private:
  explicit Client(absl::string_view program) : program_(program) {}

  absl::Status EnsureServer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropServer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndServer() ABSL_LOCKS_EXCLUDED(mutex_);
  // Hands a fresh stream to the server; returns our end.
  absl::StatusOr<int> OpenStream();

  const std::string program_;
  absl::Mutex mutex_;
  int control_ ABSL_GUARDED_BY(mutex_) = -1;
  pid_t server_ ABSL_GUARDED_BY(mutex_) = -1;
  pid_t owner_ ABSL_GUARDED_BY(mutex_) = -1;  // the process that started the server
};

}  // namespace onexpu::fork_server

#endif  // PJRT_CORE_FORK_SERVER_CLIENT_H_
