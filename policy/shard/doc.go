// Package shard decides which workers a caller may use, so that a caller whose
// work kills workers kills few. It is pure: everything is an argument.
//
// # Shuffle shards
//
// [Assign] gives each caller k of n workers, at random but always the same. Two
// callers seldom share a whole shard ([Overlap] says how seldom: 1 in 45 for 2 of
// 10), so nearly everybody who loses a worker to a neighbour has another one.
//
//	caller a   ■ ■ · · · ·      a kills what it touches:
//	caller b   · ■ ■ · · ·      b has one worker left,
//	caller c   · · · ■ · ■      c has not noticed
//
// The method is rendezvous hashing (Thaler and Ravishankar, "Using Name-Based
// Mappings to Increase Hit Rates", 1998): each pair of caller and worker has a
// score, and the k highest win. Hence what is guaranteed:
//
//   - It depends on the caller and the workers' names alone, not on their order,
//     on who else calls, or on the process.
//   - A worker that leaves is replaced, in the shards that held it, by one other;
//     one that comes displaces one at most. No other shard changes.
//   - Every shard is as likely as any other.
//
// # Cells
//
// [Cell] and [WorkerCell] cut the fleet into fixed parts instead: coarser, since
// all callers of a cell fall together, but easy to reason about, and a cell can
// be all that a canary build touches.
//
// # Limits
//
// It knows no load: callers are not of one size, and the heaviest two may share
// a shard. It is no defence against who can choose its name: the caller's hash
// must be keyed, or an attacker looks for a neighbour's shard.
//
// # Bounds
//
// Assign looks at each worker once, a few nanoseconds each, and allocates nothing
// when dst has room.
package shard
