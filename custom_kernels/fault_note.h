// One line for who looks for a fault in a kernel of their own: on a CPU device a kernel that reads
// or writes where nothing is ends the process, as native code does, far from the call that launched
// it.
#ifndef CUSTOM_KERNELS_FAULT_NOTE_H_
#define CUSTOM_KERNELS_FAULT_NOTE_H_

#include <cstddef>

namespace onexpu {

// Handles the signals of faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL) from now on: writes the line,
// then lets whoever handled them before have the same fault. Once for the process; any thread.
void NoteFaults();

// Remembers a launch for that line. Stores a few words, waits for nobody. `name` stays where it is
// to the end of the process; sizes of no dimension are 0. Launches of several threads at once may
// mix up the sizes of one with the name of another.
void NoteLaunch(const char* name, const size_t (&global)[3], const size_t (&local)[3],
                int dimensions);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_FAULT_NOTE_H_
