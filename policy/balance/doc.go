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
// Only a request's first failure counts; [Outcome.Repeat] says that it is
// another. And where callers are known, the failures of the two that failed most
// are left out ([Eject.Excuse]): in a fleet of shards one caller's poison falls on
// the same few workers each time, and the median does not see it. What is left: a
// worker that three and more callers in the same shard send poison is taken for a
// bad one. It costs what ejection may cost.
//
// # Bounds
//
// At most MaxEject of the workers that are up are ejected at once, one at least
// of three or more. When less than a share of the workers looks well, the looks
// are distrusted ([Panic]): refusing everything would do more harm.
// A Record is about 800 bytes whatever comes; Add allocates nothing.
package balance
