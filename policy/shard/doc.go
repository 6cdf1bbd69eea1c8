// Package shard decides which workers a caller may use, so that a caller whose work kills
// workers can only kill a few. It is pure: everything is an argument.
//
// # Shuffle shards
//
// [Assign] gives each caller k of n workers, at random but always the same. Two callers
// seldom share a whole shard ([Overlap] says how seldom: 1 in 45 for 2 of 10). So nearly
// every caller that loses a worker to another caller still has one.
//
//	caller a   ■ ■ · · · ·      a kills what it touches:
//	caller b   · ■ ■ · · ·      b has one worker left,
//	caller c   · · · ■ · ■      c has not noticed
//
// The method is rendezvous hashing (Thaler and Ravishankar, "Using Name-Based Mappings to
// Increase Hit Rates", 1998): each pair of caller and worker has a score, and the k
// highest win. This guarantees:
//
//   - A shard depends only on the caller and the workers' names, not on their order, on
//     other callers, or on the process.
//   - A worker that leaves is replaced by one other in the shards that held it. A worker
//     that comes displaces at most one. No other shard changes.
//   - Every shard is as likely as any other.
//
// # Cells
//
// [Cell] and [WorkerCell] cut the fleet into fixed parts instead. That is coarser, since
// all callers of a cell fail together, but easy to reason about, and a canary build can
// be confined to one cell.
//
// # Limits
//
// It does not consider load: callers differ in size, and the heaviest two may share a
// shard. It is no defence against callers that choose their names unless the caller's
// hash is keyed. Otherwise an attacker can search for a name in another caller's shard.
//
// # Bounds
//
// Assign looks at each worker once, in a few nanoseconds, and allocates nothing if dst
// has room.
package shard
