// Package fleet knows which workers of one fleet may take work now. It hands them out,
// and reserves some as the lane when asked. It does not know the wire, nor who starts the
// workers: a [Keeper] reports when they come up and go down.
//
// # The life of a worker
//
//	       Up                Reserve
//	down ──────► serving ◄──────────► lane
//	  ▲             │ Drain             │
//	  │             ▼                   │
//	  │         draining                │
//	  │ Down        │ Down         Down │
//	  └─────────────┴───────────────────┘
//
// A life can be retired: it drains beside the next one in its place, until Down.
//
// A place can be added at any time, and removed while its worker is down. Every Up begins
// a new epoch with a new [Worker] value; a Worker never comes back to life. When Down
// ends an epoch, [Config.Ended] is called once, before callers that wait in
// [Fleet.Settle] continue. So the ledger has shared out the blame by then.
//
// # Opinions
//
// These states are facts. The fleet also has opinions, which may be wrong: a worker gets
// no work while its health checks fail ([Fleet.Sick]), and for a time when its answers
// make it an outlier ([Fleet.Observe], policy/balance). It is then held out.
//
//	                 less than PanicBelow of those up look well
//	┌────────────┐ ────────────────────────────────────────────► ┌───────┐
//	│ calm:      │                                               │ panic │ opinions are
//	│ held out   │ ◄──────────────────────────────────────────── └───────┘ not believed
//	└────────────┘                  enough do again
//
// In panic mode every worker that is up gets work. If most workers look sick, the checks
// are more likely to be wrong than the workers, and the remaining few could not carry
// all the work. An ejection never causes panic mode. [Fleet.Panic], [Fleet.Stats] and
// [Config.Judged] show it.
//
// # Silence
//
// A worker with work in flight that has answered nothing for longer than usual may be busy
// with something slow, or it hangs and will be killed with all that is sent to it until then.
// [Fleet.Listen] notices it: it gets nothing new until it answers, or a look finds it well. If
// no worker answers, all get work. Looks at workers that are well make the fleet more patient.
//
//	speaks ── 0.2 s ──▶ silent ── no answer to a look ──▶ mute ── 3 s ──▶ frozen: Substitute
//	   ▲ └─────────────── an answer, or a good look ──────────────┘            │
//	   └─────────────────────────── an answer ─────────────────────────────────┘
//
// A frozen worker is retired beside a new life in its place.
//
// # Shards and cells
//
// A [Want] with a Caller and a Shard gets only the workers that policy/shard assigns
// to that caller. The assignment goes by the names of places, so a restart does not
// change a shard. Cells narrow a shard to a fixed part of the fleet. [Overflow] says when
// a caller may leave its shard; it then gets a shard of the same size among the workers
// that take work. With OverflowNever, a shard in which no worker takes work uses its
// workers that are held out.
//
// A shard goes before a canary: the fleet prefers a canary inside the shard and never
// looks for one outside. The lane belongs to no shard. The caller whose shard a lane
// worker came from has one worker less until that worker is given back.
//
// # Guarantees
//
// At most [Config.LaneShare] of the workers, and at least one, are the lane. A reserved
// worker gets no other work. Reserve returns only when nothing is in flight on the
// worker, except for answers that stream; it never reserves a worker that is held out.
//
// Acquire picks the least loaded worker; in fleets above 16 workers, of two at random. If
// SlowStart is set, a fresh worker is picked less often the younger it is. A load counts
// by the worker's weight ([Fleet.SetWeight]). If no worker is free, Acquire waits in a
// bounded queue: first come, first served among callers that may have the same worker. A
// caller that waits for its shard does not block others, and takes no more of the queue
// than its shard is of the fleet. Acquire never returns a worker that was down, draining
// or the lane at that moment. A stream ([Fleet.Stream]) does not count towards
// MaxInFlight; each worker has 10,000 at most.
//
// All methods are safe for concurrent use. No lock is held during callbacks.
//
// # Bounds
//
// At most MaxWaiting callers wait. A place takes about 1 KB; cached shards take 56 KiB.
// Acquire and Observe allocate nothing unless they wait. A shard that is not cached costs
// a look at every place.
package fleet
