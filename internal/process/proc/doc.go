// Package proc has what all packages that start processes need: a thread to fork from,
// a clean environment, the end of their output, how they ended, and a way to kill
// everything that they left.
//
// # Whose is a process
//
// A [Family] says it. A process belongs to a job by its session, by a variable in
// its environment, or by its [Tag]: a number in a resource limit that no program uses. A
// process can leave its session and clear its environment. It inherits its tag through
// every fork and exec and cannot remove it without privilege, and the tag of a dead
// process can still be read.
//
// # What may be killed
//
// Only what is proven to belong to the job while its id cannot pass to another: a process
// group while its leader is dead and not reaped ([Reap]), our own unreaped
// children ([EndAdopted]), and others by a handle, asked once more after it was
// opened ([Sweep]).
//
// Outside Linux only the process group is killed.
package proc
