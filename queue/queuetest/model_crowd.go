package queuetest

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func (c *crowd) find(body string) *copied {
	if i := slices.IndexFunc(c.alive, func(o *copied) bool { return o.body == body }); i >= 0 {
		return c.alive[i]
	}
	return nil
}

func (c *crowd) remove(o *copied) {
	c.alive = slices.DeleteFunc(c.alive, func(other *copied) bool { return other == o })
}

func (c *crowd) die(o *copied) {
	c.remove(o)
	c.dead[o.body] = *o
}

func (c *crowd) retention() time.Duration {
	if c.kept == 0 {
		return 24 * time.Hour
	}
	return time.Duration(c.kept) * time.Minute
}

func (c *crowd) old(o *copied) bool { return c.kept > 0 && o.since <= c.now-c.kept }

func (c *crowd) exhausted(o *copied) bool { return c.most > 0 && o.receives >= c.most }

// flying counts the copies of a payload that are in flight, but for one.
func (c *crowd) flying(n byte, but *copied) (flying int) {
	for _, o := range c.alive {
		if o != but && o.n == n && o.flies(c.now) {
			flying++
		}
	}
	return flying
}

// unswept counts the copies of a payload whose receives are used up: their
// deliveries are over when Sweep has ended them.
func (c *crowd) unswept(n byte) (unswept int) {
	for _, o := range c.alive {
		if o.n == n && o.leased && c.exhausted(o) {
			unswept++
		}
	}
	return unswept
}

// behind reports whether something before a copy in its FIFO group is in flight, or
// waited for.
func (c *crowd) behind(of *copied) bool {
	for _, o := range c.alive {
		if o == of {
			break
		}
		if c.fifo && o.group == of.group && o.locks(c.now) {
			return true
		}
	}
	return false
}

// refused reports whether a payload is in quarantine. The store's clock counts
// less than a minute.
func (c *crowd) refused(k *poison.Case) bool {
	return k != nil && !c.p.Poison.Off && k.State == poison.Quarantined && k.Until > time.Now().Add(30*time.Second).UnixMicro()
}

func (c *crowd) suspected(k *poison.Case) bool {
	return k != nil && k.State != poison.Watched && !c.p.Poison.Off
}

func (c *crowd) trusted(k *poison.Case) bool {
	return k != nil && k.State == poison.Watched && k.Proven || c.p.Poison.Off
}

// alike compares cases but for their times.
func alike(a, b *poison.Case) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.Since, x.Touched, x.Until = y.Since, y.Touched, y.Until
	return x == y
}

// lose finds out what is not there any more, and whether it is too old.
func (c *crowd) lose(t *rapid.T) {
	there, err := c.Peek(c.ctx(), c.q.Name, 0, 256)
	suite.Must(t, err)
	left := map[string]bool{}
	for i := range there {
		left[string(there[i].Body)] = true
	}
	for _, o := range slices.Clone(c.alive) {
		if left[o.body] {
			continue
		}
		if c.p.KeepExpired || !c.old(o) || o.visible > c.now {
			t.Fatalf("%+v is lost", *o)
		}
		c.remove(o)
	}
}

// bury finds out who has died, and whether there is a reason.
func (c *crowd) bury(t *rapid.T, told []string) {
	letters, err := c.Peek(c.ctx(), c.p.DeadLetter, 0, 256)
	suite.Must(t, err)
	for i := range letters {
		body := string(letters[i].Body)
		if _, ok := c.dead[body]; ok {
			continue
		}
		o := c.find(body)
		suite.FatalIf(t, o == nil, "%s died, which had ended", body)
		if o.visible > c.now || c.exhausted(o) && !o.gone && !c.old(o) {
			t.Fatalf("%s died in the middle of its life: %+v", body, *o)
		}
		if k := c.known(o.n); !c.refused(k) && (!o.gone || !c.suspected(k)) && !(c.old(o) && c.p.KeepExpired) {
			t.Fatalf("%s died of nothing: %+v", body, k)
		}
		suite.FatalIf(t, !slices.Contains(told, c.p.DeadLetter), "%s died, but that is said of %v", body, told)
		c.die(o)
	}
	suite.FatalIf(t, len(letters) != len(c.dead), "%d letters are there, want %d", len(letters), len(c.dead))
}

// checkGiven checks law 3, that suspects are alone, and the order.
func (c *crowd) checkGiven(t *rapid.T, got queue.Claimed, most int) {
	suite.FatalIf(t, len(got.Messages) > most, "received %d messages, want at most %d", len(got.Messages), most)
	given := map[string]int{} // by group
	for i := range got.Messages {
		m := &got.Messages[i]
		o := c.find(string(m.Body))
		suite.FatalIf(t, o == nil, "received %s, which has ended", m.Body)
		if o.visible > c.now || c.exhausted(o) || c.old(o) || c.behind(o) {
			t.Fatalf("received %+v, which is not to be had", *o)
		}
		k := c.known(o.n)
		suite.FatalIf(t, !c.trusted(k) && c.flying(o.n, o) > 0, "received %s while a copy is in flight; known is %+v", o.body, k)
		suite.FatalIf(t, m.Alone != c.suspected(k) || m.Alone && len(got.Messages) > 1, "received %s with %d others, alone: %v; known is %+v", o.body, len(got.Messages)-1, m.Alone, k)
		suite.FatalIf(t, c.refused(k), "received %s, whose payload is refused: %+v", o.body, k)
		if c.fifo {
			if first := c.inLine(o.group, given[o.group]); first != o {
				t.Fatalf("received %s, want %s of its group first", o.body, first.body)
			}
			given[o.group]++
		}
	}
}

// inLine returns what of a group is to be received after n others.
func (c *crowd) inLine(group string, n int) *copied {
	for _, o := range c.alive {
		if o.group == group && !c.exhausted(o) {
			if n == 0 {
				return o
			}
			n--
		}
	}
	return nil
}

// checkLeft is for when the store says that there is no more: what is visible
// has to wait for a copy whose delivery is not over, and that has to be said.
func (c *crowd) checkLeft(t *rapid.T, got queue.Claimed) {
	held, next := false, -1
	looked := map[string]bool{}
	for _, o := range c.alive {
		until := o.visible
		if looked[o.group] || c.exhausted(o) && !(c.fifo && o.locks(c.now)) {
			continue
		}
		looked[o.group] = c.fifo // only the first is in line
		if until > c.now {
			if next < 0 || until < next {
				next = until
			}
			continue
		}
		held = true
		k := c.known(o.n)
		if n := c.flying(o.n, o) + c.unswept(o.n); n == 0 || c.trusted(k) || c.refused(k) {
			t.Fatalf("%s was not received; %d copies are in flight, known is %+v", o.body, n, k)
		}
	}
	if got.Held != held && !(c.fifo && got.Held) { // in FIFO queues also of what is not first
		t.Fatalf("something waits for a copy: %v, want %v", got.Held, held)
	}
	want := time.Duration(next-c.now) * time.Minute
	if next < 0 {
		suite.FatalIf(t, got.Next >= 0, "there is said to be more in %v, but that is all", got.Next)
		return
	}
	suite.FatalIf(t, got.Next <= want-30*time.Second && !(held && got.Next > 0) || got.Next > want || got.Next < 0, "there is said to be more in %v, want %v", got.Next, want)
}

func (c *crowd) compare(t *rapid.T) {
	var want queue.Counts
	for _, o := range c.alive {
		switch {
		case o.visible <= c.now:
			want.Visible++
		case o.leased || o.held:
			want.InFlight++
		default:
			want.Delayed++
		}
	}
	got, err := c.Counts(c.ctx(), c.q.Name)
	suite.Must(t, err)
	if got.Oldest = 0; got != want {
		t.Fatalf("the queue holds %+v, want %+v", got, want)
	}
}
