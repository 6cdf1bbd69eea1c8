// Package proc holds what everybody needs who starts processes: a thread to fork
// from, a clean environment, the end of what they have written, how they ended,
// and the end of everything that they left.
//
// # Whose is a process
//
// A [Family] says which. A process belongs to a job by its session, by a variable in
// its environment, or by its [Tag]: a number in a limit that nobody uses. The
// session can be left and the environment cleared; a tag goes with every fork
// and exec, cannot be taken off without privilege, and can be read from the dead.
//
// # What may be killed
//
// Only what is proven to belong to the job while its id cannot pass to another: a process
// group while its leader is dead and not reaped ([Reap]), our own unreaped
// children ([EndAdopted]), and others by a handle, asked once more after it was
// opened ([Sweep]).
//
// Everything but the names of signals is weaker off Linux: there a group is
// killed, and that is all.
package proc
