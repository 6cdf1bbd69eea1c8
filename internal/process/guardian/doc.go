// Package guardian kills processes that jobs have left running when the process that ran
// the jobs is killed.
//
// The kernel kills a job's first process when its owner dies (Pdeathsig), but not the
// processes that the job has started. An owner that is killed by SIGKILL or for lack of
// memory cannot clean up. So the program starts itself once more, as a guardian: it
// waits for the death of its owner, kills what belongs to the owner's jobs, and ends. It
// finds these processes by their memory groups, by a variable in their environment, and
// by their tags; see [proc.Family].
//
// The guardian has a session of its own and ignores all signals that services and
// terminals send to stop programs. It inherits no environment. Only stderr is open; the
// guardian writes there what it has killed.
package guardian
