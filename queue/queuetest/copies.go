package queuetest

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func copyTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"CopiesWait": testCopiesWait, "CopiesWaitForNobodyElse": testCopiesElsewhere, "WaitingCopiesBlockNobody": testCopiesBlockNobody,
		"CopiesAfterLease": testCopiesAfterLease, "CopiesAfterRelease": testCopiesAfterRelease, "CopiesAfterPurge": testCopiesAfterPurge,
		"CopiesGivenTogether": testCopiesTogether, "CopiesOfPriority": testCopiesOfPriority, "LateDeleteOfAWaitingCopy": testLateCopy,
		"CopiesInFIFO": testCopiesFIFO, "CopiesBehindOthers": testCopiesBehind, "CopiesBehindTheirOwn": testCopiesOwn, "CopiesJudgedNoMore": testCopiesOff, "CopiesOfAProvenSuspect": testCopiesProvenSuspect,
	}
}

// Law 3: copies of an unproven payload wait for the first.
func testCopiesWait(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a", "b", "c")
	first := d.one("a")
	c := d.claim(10)
	r.fatalIf(len(c.Messages) > 0 || !c.Held || c.Next <= 0 || c.Next > lease, "while a copy is in flight received %+v", c)
	r.wantCounts("jobs", 2, 1, 0)
	if k := d.wantState(1, poison.Watched); k.Proven {
		r.Errorf("before any worked: %+v", k)
	}
	d.done(first...)
	if k := d.wantState(1, poison.Watched); !k.Proven {
		r.Errorf("after one has worked: %+v", k)
	}
	d.done(d.take("b", "c")...)
	d.put(1, "d", "e")
	if c := d.claim(10); len(c.Messages) != 2 || c.Held {
		r.Errorf("of a proven payload received %v", bodies(c.Messages))
	}
}

func testCopiesElsewhere(r *rig) {
	d, other := r.at("jobs", nil), r.at("other", nil)
	d.put(1, "a")
	other.put(1, "b")
	d.put(2, "c")
	d.put(0, "d", "e") // not recognised
	d.take("a", "c", "d", "e")
	other.take("b")
}

// However many wait: what is behind them is received at once.
func testCopiesBlockNobody(r *rig) {
	d := r.at("jobs", nil)
	const copies = 700
	for i := range copies {
		d.put(1, fmt.Sprint("copy", i))
	}
	d.put(2, "x")
	d.put(3, "y")
	d.one("copy0")
	d.take("x", "y")
	d.put(4, "z")
	d.take("z")
	r.wantCounts("jobs", copies-1, 4, 0)
}

// When a lease ends and nobody was done, one goes again; which, is not said.
func testCopiesAfterLease(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a", "b")
	for range 3 {
		d.only()
		d.take()
		r.age(lease + time.Second)
	}
	first := d.only()
	d.done(first)
	if last := d.only(); last.ID == first.ID {
		r.Errorf("%s was deleted, and received again", last.Body)
	}
}

// one receives one message and wants it.
func (d *storeClient) one(body string) []queue.Message {
	d.Helper()
	m := d.claim(1).Messages
	suite.FatalIf(d, len(m) != 1 || string(m[0].Body) != body, "received %v, want %s", bodies(m), body)
	return m
}

// only receives one message and wants no other one to be there.
func (d *storeClient) only() queue.Message {
	d.Helper()
	m := d.claim(1).Messages
	if more := d.claim(10).Messages; len(more) > 0 {
		d.Fatalf("received %v too", bodies(more))
	}
	suite.FatalIf(d, len(m) != 1, "received %v, want one message", bodies(m))
	return m[0]
}

func testCopiesAfterRelease(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a", "b", "c")
	a := d.one("a")[0]
	d.take()
	d.change(queue.Change{Receipt: a.Receipt, Release: true, For: time.Hour}) // not in flight while it is delayed
	b := d.one("b")[0]
	d.take()
	d.change(queue.Change{Receipt: b.Receipt}) // visible again
	b = d.only()
	d.take()
	d.done(b)
	d.done(d.only())
	r.age(time.Hour)
	d.take("a")
}

func testCopiesAfterPurge(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a", "b")
	d.one("a")
	d.take()
	r.must(r.Purge(r.ctx(), "jobs"))
	d.put(1, "c", "d")
	d.one("c")
	d.take()
	r.clean()
	r.must(r.store.ChangeCase(r.ctx(), d.q.ID, work(1), func(*poison.Case, int64) *poison.Case { return nil }))
	r.age(lease + time.Second)
	first := d.only()
	d.done(first)
	r.errorIf(d.only().ID == first.ID, "a deleted message was received again")
}

// Copies that go to one worker at once need not wait: it dies once. Then each is
// tried alone.
func testCopiesTogether(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a", "b", "c")
	d.put(2, "x")
	m := d.take("a", "b", "c", "x")
	d.put(1, "d")
	d.take()
	d.vanish(m...)
	r.age(lease + time.Second)
	d.set(work(2), nil)
	alone := d.claim(1).Messages[0]
	if k := d.wantState(1, poison.Suspect); !alone.Alone || k.Level != 0 {
		r.Errorf("after one death received %+v; known is %+v", alone, k)
	}
	d.done(alone)
}

func testCopiesOfPriority(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	a := d.take("a")
	d.put(1, "low")
	d.take()
	d.send(queue.Entry{SendInput: queue.SendInput{Body: []byte("high"), Priority: 5}, Payload: work(1)})
	d.take()
	d.change(queue.Change{Receipt: a[0].Receipt, Release: true, For: time.Minute})
	if m := d.claim(1).Messages; len(m) != 1 || string(m[0].Body) != "high" {
		r.Errorf("received %v, want high", bodies(m))
	}
}

// A receipt is good until the message is received again, also while it waits.
func testLateCopy(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	late := d.take("a")[0]
	r.age(lease + time.Second)
	d.send(queue.Entry{SendInput: queue.SendInput{Body: []byte("b"), Priority: 5}, Payload: work(1)})
	b := d.one("b")
	d.take()                                                        // a waits now
	d.change(queue.Change{Receipt: late.Receipt, For: time.Minute}) // in vain
	r.wantCounts("jobs", 1, 1, 0)
	d.done(late)
	d.done(b...)
	r.wantCounts("jobs", 0, 0, 0)
}

// Copies of a proven payload fly together. When the worker of one vanishes, and
// the store learns of its death only as it receives, the suspect still waits for
// the others.
func testCopiesProvenSuspect(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a", "b", "c")
	d.done(d.only())
	both := d.claim(10).Messages
	r.fatalIf(len(both) != 2, "received %v", bodies(both))
	lost, stays := both[0], both[1]
	d.change(queue.Change{Receipt: stays.Receipt, For: 3 * lease})
	d.vanish(lost)
	if c := d.claim(10); len(c.Messages) > 0 || !c.Held {
		r.Fatalf("while another is in flight received %v, held: %v", bodies(c.Messages), c.Held)
	}
	d.wantState(1, poison.Suspect)
	d.done(stays)
	d.take(string(lost.Body))
}

// In a FIFO queue the whole group waits.
func testCopiesFIFO(r *rig) {
	d := r.at("jobs.fifo", fifo)
	d.putIn("a", "a0", 1)
	m := d.take("a0")
	d.putIn("b", "b0", 1)
	d.putIn("b", "b1", 2)
	d.putIn("c", "c0", 3)
	d.putIn("c", "c1", 1)
	m = append(m, d.take("c0")...)
	for _, m := range m {
		if string(m.Body) == "c0" {
			d.done(m)
		}
	}
	c := d.claim(10)
	r.fatalIf(len(c.Messages) > 0 || !c.Held, "while a copy is in flight received %v", bodies(c.Messages))
	d.putIn("b", "b2", 4)
	d.take()
	for _, m := range m {
		if string(m.Body) == "a0" {
			d.done(m)
		}
	}
	d.take("b0", "b1", "b2", "c1")
}

// putIn sends a message of a FIFO group.
func (d *storeClient) putIn(group, body string, n byte) {
	d.Helper()
	d.send(queue.Entry{SendInput: queue.SendInput{Body: []byte(body), Group: group}, Payload: work(n)})
}

// A group waits for a copy until its lease is over, also when what is before
// the copy keeps its own group locked.
func testCopiesBehind(r *rig) {
	d := r.at("jobs.fifo", fifo)
	d.putIn("a", "a0", 1)
	d.putIn("a", "a1", 2)
	m := d.take("a0", "a1")
	d.putIn("b", "b0", 2)
	d.take()
	for _, m := range m {
		if string(m.Body) == "a0" {
			d.change(queue.Change{Receipt: m.Receipt, For: 10 * lease})
		}
	}
	r.age(lease + time.Second)
	d.take("b0")
}

// What a group has in flight comes back when its lease is over, also when what
// is behind it waits for a copy.
func testCopiesOwn(r *rig) {
	d := r.at("jobs.fifo", fifo)
	d.putIn("a", "a0", 2)
	d.change(queue.Change{Receipt: d.one("a0")[0].Receipt, For: 10 * lease})
	d.putIn("b", "b0", 1)
	d.putIn("b", "b1", 2)
	d.take("b0")
	r.age(lease + time.Second)
	d.take("b0")
}

// Where payloads are judged no more, what waited waits no more.
func testCopiesOff(r *rig) {
	for _, d := range []*storeClient{r.at("jobs", nil), r.at("jobs.fifo", fifo)} {
		for _, body := range []string{"a", "b", "c"} {
			d.putIn(body, body, 1)
		}
		first := d.one("a")
		d.take()
		d.p.Poison.Off = true
		rest := d.take("b", "c")
		d.p.Poison.Off = false
		d.putIn("d", "d", 1)
		d.take()
		d.done(append(first, rest...)...)
		d.take("d")
	}
}
