// Package backoff computes how long to wait before trying again, and how long
// that can take in all. It is pure: randomness is an argument, and a wait that
// depends on the one before is told it.
//
// The strategies are those of Brooker, "Exponential Backoff And Jitter" (2015).
// Full jitter is the default: of many that failed together few come back
// together. Means of the wait before the attempt-th retry, while below the cap
// c: full c/2, equal 3c/4, decorrelated 2·Base for the first one.
//
// No wait exceeds [Config.Ceiling], and all waits of n deliveries together do
// not exceed [Config.RetryBound] of n: a deadline shorter than that can be refused
// when it is configured, with the arithmetic of [Config.Explain].
package backoff
