// Package balance decides which workers deserve traffic, and how much. It is
// pure: the time and randomness are arguments, and the caller holds the lock.
//
// # Choice
//
// The worker with the lowest [Load] is chosen, among all or among two at random
// (Mitzenmacher, "The Power of Two Choices", 2001). The share of a fresh worker grows
// over a time ([Ramp]): Load gives it s times the share of the others, in an idle and in
// a busy fleet.
//
// # Ejection
//
//	          outlier, and ejecting is allowed: times + 1
//	┌──────┐ ───────────────────────────────────────────► ┌─────────┐ for For·2^(times-1),
//	│  in  │                                              │ ejected │ at most MaxFor
//	└──────┘ ◄─────────────────────────────────────────── └─────────┘
//	                    the time is over: a clean record
//
// A [Record] holds the results of one worker's answers. A worker is an outlier when it
// fails more than the others do: work that fails everywhere says nothing about a worker.
// One of the rules of [Eject] must hold:
//
//   - a streak of at least Consecutive failures that the median worker would have once in
//     10⁹ (the more the median worker fails, the longer the streak must be);
//   - a failure ratio over the window that is Above that of the median worker, and five
//     standard deviations away from it.
//
// The median is the upper one, of workers with at least five results. It is computed with
// one more failure and one more success than there were, and from the last few results
// alone if these are worse. So it is cautious when there is little evidence and at the
// start of an outage. A worker that cannot be compared with others is no outlier.
//
// # Poison must not eject
//
// Only a request's first failure counts; [Outcome.Repeat] marks later ones. If callers
// are known, the failures of the two callers that failed most are left out
// ([Eject.Excuse]): in a fleet with shards, one caller's poison hits the same few workers
// each time, and the median does not show it. One case remains: a worker that gets poison
// from three or more callers of the same shard looks bad and may be ejected.
//
// # Bounds
//
// At most MaxEject of the workers that are up are ejected at once; of three or more
// workers, one may always be. If less than a share of the workers looks healthy, the
// checks are not believed ([Panic]): refusing all work would do more harm. A Record takes
// about 800 bytes; Add allocates nothing.
package balance
