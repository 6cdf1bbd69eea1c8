package queuetest

import (
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func retryTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"Backoff": testBackoff, "BackoffBounded": testBackoffBounded, "AttemptsUsedUp": testAttempts, "TooOldForAnother": testMaxAge,
		"LettersAreNotGivenUp": testLettersNotGivenUp,
	}
}

// release gives a delivery back as c says, for a reason that blames nobody.
func (d *storeClient) release(m queue.Message, c queue.Change) {
	d.Helper()
	c.Receipt, c.Release, c.Outcome = m.Receipt, true, &queue.Outcome{Class: bezoar.Transient, Failure: "f", Reason: "busy"}
	d.change(c)
}

// How long it waits is decided with the number of its receives, in the
// transaction that ends the delivery.
func testBackoff(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	var receives []int
	back := func(n int, last time.Duration) time.Duration {
		receives = append(receives, n)
		r.errorIf(n == 1 && last != 0, "before the first delivery it waited %v", last)
		return time.Duration(n) * time.Minute
	}
	for n := range 3 {
		d.release(d.take("a")[0], queue.Change{For: time.Minute, Backoff: back})
		r.wantCounts("jobs", 0, 0, 1)
		r.age(time.Duration(n+1) * time.Minute)
		d.take()
		r.age(time.Minute)
	}
	r.errorIf(receives[len(receives)-1] != 3 || receives[0] != 1, "it was asked with the receives %v", receives)
}

func testBackoffBounded(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	d.release(d.take("a")[0], queue.Change{Backoff: func(int, time.Duration) time.Duration { return 1000 * time.Hour }})
	r.age(queue.MaxVisibility)
	d.take("a")
}

func testAttempts(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	d.release(d.take("a")[0], queue.Change{Attempts: 2})
	d.release(d.take("a")[0], queue.Change{Attempts: 2})
	l := d.wantDead("a")[0].Letter
	if l.Class != bezoar.Transient || l.Failure != "f" || !strings.HasPrefix(l.Reason, "busy; ") || len(l.Attempts) != 2 || l.Group != "transient:f" {
		r.Errorf("the letter is %+v", l)
	}
}

func testMaxAge(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a", "b")
	d.release(d.one("a")[0], queue.Change{For: 10 * time.Minute, MaxAge: time.Hour})
	r.age(55 * time.Minute)
	for range 2 {
		d.release(d.only(), queue.Change{For: 10 * time.Minute, MaxAge: time.Hour})
	}
	for _, m := range d.wantDead("a", "b") {
		r.errorIf(!strings.Contains(m.Letter.Reason, "1h0m0s"), "the letter is %+v", m.Letter)
	}
}

// A letter that is received and given back stays a letter: it has nowhere
// further to go.
func testLettersNotGivenUp(r *rig) {
	d := r.at("jobs", nil)
	d.die(bezoar.Bug, "f", "a")
	q, err := r.store.Queue(r.ctx(), "jobs-dlq")
	r.must(err)
	dead := &storeClient{rig: r, q: q, p: queue.Policy{DeadLetter: queue.ImplicitName("jobs-dlq"), Implicit: true}}
	for range 3 {
		dead.release(dead.take("a")[0], queue.Change{Attempts: 1, MaxAge: time.Nanosecond})
	}
	if _, err := r.store.Queue(r.ctx(), "jobs-dlq-dlq"); queue.CodeOf(err) != queue.ErrQueueNotFound {
		r.Errorf("a queue was made for the letters of letters: %v", err)
	}
}
