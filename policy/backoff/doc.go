// Package backoff computes how long to wait before a retry, and how long all retries can
// take. It is pure: randomness and the previous wait are arguments.
//
// The strategies are those of Brooker, "Exponential Backoff And Jitter" (2015). Full
// jitter is the default: work that failed together rarely comes back together. Mean waits
// before the attempt-th retry, while below the cap c: full c/2, equal 3c/4, decorrelated
// 2·Base for the first one.
//
// No wait exceeds [Config.Ceiling], and all waits of n deliveries together do not exceed
// [Config.RetryBound] of n. So a deadline shorter than that can be refused when it is
// configured, with the arithmetic of [Config.Explain].
package backoff
