// Package procstat reads what the kernel says about a process and the machine
// under it: memory, open files, threads, processor time, pressure, disks.
//
// # Cost
//
// A few small files or system calls per answer, no fork, and no state: whoever
// wants a trend keeps the last answer. [Of] takes about 20 µs. [GroupOf] reads
// the table of mounts, so keep its answer for a process that is read often.
//
// # Guarantees
//
// Whatever the files hold, an answer is whole or an error; nothing is read
// without a bound, and nothing panics. What this system cannot say is
// [ErrUnsupported]: everything off Linux, pressure on a kernel
// without it, groups where none are mounted. That is no illness: leave the check
// out and say so.
//
// # Limits
//
// It waits for the kernel. A disk that has gone, a network file system above
// all, can hold [Disk] for as long as it likes: call it where waiting is harmless.
// RSS is what the kernel counts: some pages per processor late, so that a young
// process may have 0, and what was swapped out not at all. In a process namespace, ids are those that
// the mounted /proc shows.
package procstat
