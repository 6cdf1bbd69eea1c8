package overload

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// The rules that refuse.
const (
	RuleConcurrency = "concurrency"
	RuleQueue       = "queue"
	RuleDeadline    = "deadline"
	RulePerCaller   = "per_caller"
	RuleStreams     = "streams"
)

// Refusal says why a request was not admitted.
type Refusal struct {
	Reason     string // for people
	Rule       string // one of the five rules
	Priority   shed.Priority
	RetryAfter time.Duration // different for each caller, so that they do not come back together
	Limit      int           // how many may be in flight; RulePerCaller: of this caller; RuleStreams: how many streams
	InFlight   int           // how many were; RulePerCaller: of this caller, including waiting ones
	Queued     int           // how many waited
}

// String returns the refusal as one line.
func (r *Refusal) String() string {
	return fmt.Sprintf("%s: %s (%s; limit %d, in flight %d, queued %d; retry after %v)",
		r.Rule, r.Reason, r.Priority, r.Limit, r.InFlight, r.Queued, r.RetryAfter)
}

// verdict is what becomes of work that asks for a slot.
type verdict uint8

const (
	waiting verdict = iota
	granted
	noQueue   // nobody waits here
	shedRank  // its rank is shed
	fullQueue // everything that waits is better
	pushedOut // better work came
	tooLong   // Wait is over
	late      // the deadline is too near
	gone      // the caller has given up
	greedy    // the caller has enough here

	manyStreams   // there are as many streams as may be
	greedyStreams // the caller has as many as it may
)

// reasons are constants: a refusal must be cheap. Its numbers are in its fields.
func (v verdict) reason() (rule, reason string) {
	switch v {
	case noQueue:
		return RuleConcurrency, "the pool is at its limit"
	case shedRank:
		return RuleConcurrency, "the pool is overloaded, and work of this priority and caller is shed"
	case fullQueue:
		return RuleQueue, "the pool is at its limit and its queue is full"
	case pushedOut:
		return RuleQueue, "the queue is full and newer or more important work took the place"
	case tooLong:
		return RuleQueue, "no slot became free in the time that work may wait"
	case late:
		return RuleDeadline, "the work takes longer than there is time until its deadline"
	case gone:
		return RuleDeadline, "the caller has given up"
	case greedy:
		return RulePerCaller, "the caller has as much work here as one caller may"
	case manyStreams:
		return RuleStreams, "the pool has as many streams as it may"
	case greedyStreams:
		return RulePerCaller, "the caller has as many streams here as one caller may"
	case waiting, granted:
	}
	return "", ""
}
