// Package budget bounds the extra load that retries add. It is pure: the time
// is an argument, and the caller holds the lock.
//
// A [Budget] is a share of the traffic of the last ten seconds, and a floor for times of
// little traffic (as in Finagle's RetryBudget, 2016). Retries granted in any ten seconds
// are at most
//
//	Ratio × first attempts + 10 × Floor
//
// where the attempts are those of these seconds and of the nine before. A retry counts
// from the moment when it was granted, even if it waits afterwards. So many waiting
// retries cannot all be granted first and then come at once.
//
// A [Table] holds budgets of many callers in bounded memory.
package budget
