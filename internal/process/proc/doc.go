// Package proc has what all packages that start processes need: a thread to fork from, a
// clean environment, the end of the output, how a process ended, and a way to kill
// everything that it left.
//
// # Which job a process belongs to
//
// A [Family] decides it. A process belongs to a job by its session, by a variable in its
// environment, or by its [Tag]: a number in a resource limit that no program uses. A
// process can leave its session and clear its environment. It inherits its tag through
// every fork and exec and cannot remove it without privilege, and the tag of a dead
// process can still be read.
//
// # What may be killed
//
// A process is killed only if it is proven to belong to the job while its id cannot pass
// to another process: a process group while its leader is dead and not reaped ([Reap]),
// our own unreaped children ([EndAdopted]), and other processes by a handle, checked once
// more after it was opened ([Sweep]).
//
// Outside Linux only the process group is killed.
package proc
