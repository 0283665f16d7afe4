// A program that stays warm (loaded, relocated, initialised) and forks for every request: for
// libraries that serve one request per process only, that end their process on an error, or that
// let one thread work at a time.
//
// Single-threaded; plain C++17 and POSIX.
#ifndef PJRT_CORE_FORK_SERVER_SERVER_H_
#define PJRT_CORE_FORK_SERVER_SERVER_H_

#include <string>

#include "pjrt_core/fork_server/protocol.h"

namespace onexpu::fork_server {

// Does the work of one request, in a process of its own that may die. On kOk *output is the result,
// otherwise a message.
using Handler = ResponseCode (*)(const std::string& input, const std::string& options,
                                 std::string* output);

// Serves the requests that come over standard input. Returns, with main's result, when the last
// process that holds the other end has ended.
int Serve(Handler handler);

}  // namespace onexpu::fork_server

#endif  // PJRT_CORE_FORK_SERVER_SERVER_H_
