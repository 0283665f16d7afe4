// Prints one line that helps to find a fault in a user's kernel. On a CPU device an invalid memory
// access of a kernel aborts the process, as in native code, far from the call that launched it.
#ifndef CUSTOM_KERNELS_FAULT_NOTE_H_
#define CUSTOM_KERNELS_FAULT_NOTE_H_

#include <cstddef>

namespace onexpu {

// Installs handlers for SIGSEGV, SIGBUS, SIGFPE and SIGILL that write the line and then pass the
// fault to the previous handler. Once for the process; any thread.
void NoteFaults();

// Records a launch for that line. Stores a few words and never waits. `name` must live until the
// end of the process; the sizes of unused dimensions are 0. Concurrent launches may combine the
// sizes of one with the name of another.
void NoteLaunch(const char* name, const size_t (&global)[3], const size_t (&local)[3],
                int dimensions);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_FAULT_NOTE_H_
