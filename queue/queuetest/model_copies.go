package queuetest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// crowd plays random games with copies of a few payloads, and holds the store
// to what package poison says of each. Its clock counts minutes.
type crowd struct {
	*desk
	now    int
	sent   int
	flying map[byte][]copied // by payload
	alive  map[string]byte
	dead   int
}

// copied is a delivery of a copy.
type copied struct {
	queue.Message
	until int
	gone  int // with how many its worker vanished
}

// leaseOf is a lease in minutes: longer than a game takes, and ended by age.
const leaseOf = 3

func testModelCopies(t *testing.T, h Harness) {
	r := newRig(t, h)
	var games atomic.Int64
	var lost atomic.Bool
	rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) {
		n := games.Add(1)
		if h.Games > 0 && n > h.Games && !lost.Load() {
			return
		}
		defer func() { lost.Store(lost.Load() || t.Failed()) }()
		name := fmt.Sprint("crowd", n)
		c := &crowd{desk: r.at(name, nil), flying: map[byte][]copied{}, alive: map[string]byte{}}
		t.Repeat(map[string]func(*rapid.T){
			"send": c.sendCopy, "receive": c.receiveCopies, "receive again": c.receiveCopies, "done": c.doneCopy, "fail": c.failCopy,
			"release": c.releaseCopy, "vanish": c.vanishCopies, "age": c.ageCopies,
		})
		c.drain(t)
		if err := r.DeleteQueue(r.ctx(), name); err != nil {
			t.Fatal(err)
		}
	})
}

func (c *crowd) sendCopy(t *rapid.T) {
	n := rapid.SampledFrom([]byte{1, 1, 2, 3}).Draw(t, "payload")
	for range rapid.IntRange(1, 3).Draw(t, "copies") {
		c.sent++
		body := fmt.Sprint(n, "/", c.sent)
		c.alive[body] = n
		c.desk.send(queue.Entry{
			SendInput: queue.SendInput{Body: []byte(body), Priority: rapid.IntRange(0, 1).Draw(t, "priority")}, Payload: work(n),
		})
	}
}

// receiveCopies checks law 3 and that suspects are alone. What nobody ended is
// settled by the store in its own order, so the cases are asked of it.
func (c *crowd) receiveCopies(t *rapid.T) {
	got, err := c.store.Receive(c.ctx(), c.q.ID, queue.Claim{
		Policy: c.p, Max: rapid.IntRange(1, 4).Draw(t, "max"), Visibility: leaseOf * time.Minute, Retention: time.Hour * 24,
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, all := range c.flying {
		c.flying[n] = slices.DeleteFunc(all, func(o copied) bool { return o.until <= c.now })
	}
	before := map[byte]int{} // those that are given together need not wait for each other
	for n, all := range c.flying {
		before[n] = len(all)
	}
	for _, m := range got.Messages {
		body := string(m.Body)
		n, ok := c.alive[body]
		if !ok {
			t.Fatalf("received %s, which has ended", body)
		}
		k := c.known(n)
		unproven := k == nil || !k.Proven
		if unproven && before[n] > 0 {
			t.Fatalf("received %s while %s is in flight; known is %+v", body, c.flying[n][0].Body, k)
		}
		if suspect := k != nil && k.State != poison.Watched; m.Alone != suspect || suspect && len(got.Messages) > 1 {
			t.Fatalf("received %s with %d others, alone: %v; known is %+v", body, len(got.Messages)-1, m.Alone, k)
		}
		if k != nil && k.State == poison.Quarantined && k.Until > time.Now().UnixMicro()+time.Minute.Microseconds() {
			t.Fatalf("received %s, whose payload is refused: %+v", body, k)
		}
		c.flying[n] = append(c.flying[n], copied{m, c.now + leaseOf, 0})
	}
}

// pickCopy draws a delivery whose lease holds.
func (c *crowd) pickCopy(t *rapid.T) copied {
	var all []copied
	for n := byte(1); n <= 3; n++ {
		for _, o := range c.flying[n] {
			if o.until > c.now {
				all = append(all, o)
			}
		}
	}
	if len(all) == 0 {
		t.Skip("nothing is in flight")
	}
	o := all[rapid.IntRange(0, len(all)-1).Draw(t, "delivery")]
	n := c.alive[string(o.Body)]
	c.flying[n] = slices.DeleteFunc(c.flying[n], func(other copied) bool { return other.ID == o.ID })
	return o
}

func (c *crowd) doneCopy(t *rapid.T) {
	o := c.pickCopy(t)
	n := c.alive[string(o.Body)]
	c.done(o.Message)
	delete(c.alive, string(o.Body))
	if k := c.known(n); k != nil && k.State != poison.Watched {
		t.Fatalf("after %s had worked its payload is %+v", o.Body, k)
	}
}

func (c *crowd) failCopy(t *rapid.T) {
	o := c.pickCopy(t)
	class := rapid.SampledFrom([]bezoar.Class{bezoar.Crash, bezoar.Bug, bezoar.Timeout, bezoar.Transient}).Draw(t, "class")
	before := c.known(c.alive[string(o.Body)])
	c.fail(o.Message, class, "f")
	if _, dead := c.p.Poison.Fail(before, poison.End{Class: class, Failure: "f", Reason: "why"}, time.Now().UnixMicro()); dead {
		delete(c.alive, string(o.Body))
		c.dead++
	}
}

// releaseCopy gives a delivery back, or asks for other time; then nobody looks
// whether copies of it wait.
func (c *crowd) releaseCopy(t *rapid.T) {
	o := c.pickCopy(t)
	minutes := rapid.IntRange(0, 2).Draw(t, "minutes")
	c.change(queue.Change{Receipt: o.Receipt, Release: rapid.Bool().Draw(t, "release"), For: time.Duration(minutes) * time.Minute})
}

func (c *crowd) vanishCopies(t *rapid.T) {
	o := c.pickCopy(t)
	if err := c.store.Vanish(c.ctx(), c.q.ID, []queue.Receipt{o.Receipt}, rapid.IntRange(1, 2).Draw(t, "holding")); err != nil {
		t.Fatal(err)
	}
	n := c.alive[string(o.Body)]
	c.flying[n] = append(c.flying[n], o)
}

func (c *crowd) ageCopies(t *rapid.T) {
	minutes := rapid.IntRange(1, 4).Draw(t, "minutes")
	c.age(time.Duration(minutes) * time.Minute)
	c.now += minutes
}

// drain is done with all that there is: nothing may wait for ever.
func (c *crowd) drain(t *rapid.T) {
	for range 3 {
		c.age(time.Hour)
		for {
			got := c.claim(10)
			if len(got.Messages) == 0 && got.Next != 0 {
				break
			}
			c.done(got.Messages...)
		}
	}
	left, err := c.Counts(c.ctx(), c.q.Name)
	if err != nil {
		t.Fatal(err)
	}
	if left != (queue.Counts{}) {
		t.Fatalf("left are %+v", left)
	}
}
