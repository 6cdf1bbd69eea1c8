// Package guardian ends what jobs have left running when the process that ran them is
// killed.
//
// A job's process dies with the one that started it, because the kernel says so to
// each (Pdeathsig). What it has started itself does not. Who is killed by SIGKILL,
// or for lack of memory, can do nothing about that. So the program starts itself
// once more, as a guardian: it waits for the death of its owner, kills what belongs
// to the owner's jobs, and ends. It finds them by their memory groups, by a variable
// in their environment, and by their tags; see [proc.Family].
//
// The guardian has a session of its own and ignores all signals by which services
// and terminals stop programs. It inherits no environment, and has nothing open but
// stderr, where it says what it has killed.
package guardian
