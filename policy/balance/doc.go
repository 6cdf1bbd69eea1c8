// Package balance decides which workers deserve traffic, and how much. It is
// pure: the time and randomness are arguments, and the caller holds the lock.
//
// # Choice
//
// The worker with the lowest [Load] is chosen, of all or of two at random
// (Mitzenmacher, "The Power of Two Choices", 2001). A fresh worker's share
// grows over a time ([Ramp]): Load makes it s times the share of the others,
// whether the fleet idles or is busy.
//
// # Ejection
//
//	          outlier, and ejecting is allowed: times + 1
//	┌──────┐ ───────────────────────────────────────────► ┌─────────┐ for For·2^(times-1),
//	│  in  │                                              │ ejected │ at most MaxFor
//	└──────┘ ◄─────────────────────────────────────────── └─────────┘
//	                    the time is over: a clean record
//
// A [Record] holds what one worker's answers were like. A worker is an outlier
// when it fails more than the others do, not when it fails: work that fails
// everywhere says nothing about a worker. By either rule of [Eject]:
//
//   - a streak of failures, Consecutive at least, that the median worker would
//     have once in 10⁹ (the more that one fails, the longer);
//   - a failure ratio over the window that is Above that of the median worker,
//     and five standard deviations away from it.
//
// The median is the upper one, of workers with at least five results. It counts
// one failure and one success more than there were, and the last few results
// alone if these are worse: little evidence, and the first moment of an outage,
// make it cautious. With nobody to compare with, nobody is an outlier.
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
