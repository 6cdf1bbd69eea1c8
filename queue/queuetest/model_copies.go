package queuetest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// crowd plays random games with copies of a few payloads, and holds the store
// to what package poison says of each: see [crowd.checkGiven] and
// [crowd.checkLeft]. Its clock counts minutes; what the store itself takes is
// less than one.
type crowd struct {
	*storeClient
	t     *rapid.T
	fifo  bool
	most  int // receives of a message; 0: any number
	kept  int // how long a message is; 0: longer than the game
	now   int
	sent  int
	alive []*copied // by the order of sending
	dead  map[string]copied
	past  []delivered
}

// copied is a message that is a copy.
type copied struct {
	body, group string
	n           byte // its payload
	priority    int
	since       int
	visible     int
	leased      bool // in flight, while visible is to come
	held        bool // its group waits for it, while visible is to come
	gone        bool // its worker has vanished
	receives    int
	receipt     queue.Receipt
}

// delivered is a delivery that has begun, and perhaps ended.
type delivered struct {
	body    string
	receipt queue.Receipt
}

func (o *copied) flies(now int) bool { return o.leased && o.visible > now }
func (o *copied) locks(now int) bool { return (o.leased || o.held) && o.visible > now }

func playCopies(fifo bool) func(*rapid.T, *rig, string) {
	return func(t *rapid.T, r *rig, game string) {
		c := &crowd{t: t, fifo: fifo, dead: map[string]copied{}, most: rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "receives")}
		c.kept = rapid.SampledFrom([]int{0, 0, 5, 10}).Draw(t, "kept")
		name, grave := "copies-"+game, "grave-"+game
		if fifo {
			name, grave = name+".fifo", grave+".fifo"
		}
		r.create(grave, func(s *queue.Settings) { s.FIFO = fifo })
		c.storeClient = r.at(name, func(s *queue.Settings) {
			s.FIFO = fifo
			s.KeepExpired = rapid.Bool().Draw(t, "keep")
			s.Quarantine.After = rapid.IntRange(1, 3).Draw(t, "after")
			s.Quarantine.For, s.Quarantine.Max = time.Duration(rapid.SampledFrom([]int{2, 15}).Draw(t, "term"))*time.Minute, 30*time.Minute
			if c.most > 0 {
				s.DeadLetter = queue.DeadLetter{Queue: grave, MaxReceives: c.most}
			}
		})
		if c.most > 0 {
			c.p.DeadLetter, c.p.Implicit, c.p.MaxReceives = grave, false, c.most
		} else {
			r.create(c.p.DeadLetter, func(s *queue.Settings) { s.FIFO = fifo })
		}
		defer func() { // also of a game that is lost: the next one is not to see any of it
			for _, name := range []string{name, grave, queue.ImplicitName(name)} {
				if err := r.DeleteQueue(r.ctx(), name); err != nil && queue.CodeOf(err) != queue.ErrQueueNotFound {
					r.Error(err)
				}
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"send": c.sendCopies, "receive": c.receiveSome, "receive again": c.receiveSome, "receive all": c.receiveAll, "done": c.doneCopy, "fail": c.failCopy,
			"release": c.releaseCopy, "vanish": c.vanishCopies, "age": c.ageCopies, "age again": c.ageCopies, "late": c.lateCopy, "sweep": c.sweepCopies,
			"purge": c.purgeCopies, "redrive": c.redriveCopies, "forget": c.forgetCase, "expire": c.expireCopies, "off": c.switchOff, "reopen": c.reopen,
			"": c.compare,
		})
		c.drain(t)
	}
}

func (c *crowd) sendCopies(t *rapid.T) {
	n := rapid.SampledFrom([]byte{1, 1, 2, 3}).Draw(t, "payload")
	for range rapid.IntRange(1, 3).Draw(t, "copies") {
		c.sent++
		m := &copied{body: fmt.Sprint("one copy of ", n, "/", c.sent), n: n, since: c.now, visible: c.now}
		in := queue.SendInput{Body: []byte(m.body)}
		e := queue.Entry{Payload: work(n)}
		if c.fifo {
			m.group = rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "group")
			in.Group = m.group
		} else {
			m.priority = rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "priority")
			delay := rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "delay")
			in.Priority, e.Delay = m.priority, time.Duration(delay)*time.Minute
			m.visible += delay
		}
		c.alive = append(c.alive, m)
		e.SendInput = in
		c.storeClient.send(e)
	}
}

func (c *crowd) receiveSome(t *rapid.T) {
	c.receive(t, rapid.IntRange(1, 4).Draw(t, "max"), rapid.IntRange(1, 4).Draw(t, "lease"))
}

// receiveAll receives until the store says that there is no more, and then
// looks at what is left.
func (c *crowd) receiveAll(t *rapid.T) {
	lease := rapid.IntRange(1, 4).Draw(t, "lease")
	for range 100 {
		if got := c.receive(t, 10, lease); len(got.Messages) == 0 && got.Next != 0 {
			c.checkLeft(t, got)
			return
		}
	}
	t.Fatal("there is always more")
}

// receive receives once. What nobody ended is settled by the store in its own
// order, so who is known for what, and who died of it, is asked of it.
func (c *crowd) receive(t *rapid.T, most, lease int) queue.Claimed {
	got, err := c.store.Receive(c.ctx(), c.q.ID, queue.Claim{
		Policy: c.p, Max: most, Visibility: time.Duration(lease) * time.Minute, Retention: c.retention(),
	})
	suite.Must(t, err)
	c.bury(t, got.Queues)
	c.lose(t)
	c.checkGiven(t, got, most)
	for i := range got.Messages {
		m := &got.Messages[i]
		o := c.find(string(m.Body))
		o.receives++
		o.leased, o.held, o.gone, o.visible, o.receipt = true, false, false, c.now+lease, m.Receipt
		suite.FatalIf(t, m.Receives != o.receives, "%s was received %d times, want %d", o.body, m.Receives, o.receives)
		c.past = append(c.past, delivered{o.body, m.Receipt})
	}
	return got
}

// pickCopy draws a delivery whose lease holds.
func (c *crowd) pickCopy(t *rapid.T) *copied {
	var all []*copied
	for _, o := range c.alive {
		if o.flies(c.now) {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		t.Skip("nothing is in flight")
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(t, "delivery")]
}

func (c *crowd) doneCopy(t *rapid.T) {
	o := c.pickCopy(t)
	c.worked(t, o)
}

func (c *crowd) worked(t *rapid.T, o *copied) {
	c.done(queue.Message{Receipt: o.receipt})
	c.remove(o)
	if k := c.known(o.n); k != nil && !c.p.Poison.Off && (k.State != poison.Watched || !k.Proven) {
		t.Fatalf("after %s had worked its payload is %+v", o.body, k)
	}
}

func (c *crowd) failCopy(t *rapid.T) {
	o := c.pickCopy(t)
	e := poison.End{
		Class:   rapid.SampledFrom([]bezoar.Class{bezoar.Crash, bezoar.Crash, bezoar.Bug, bezoar.Timeout, bezoar.Transient}).Draw(t, "class"),
		Failure: rapid.SampledFrom([]string{"", "f", "g"}).Draw(t, "failure"), Reason: "why", Weak: rapid.Bool().Draw(t, "weak"),
	}
	minutes := rapid.IntRange(0, 2).Draw(t, "minutes")
	before := c.known(o.n)
	c.change(queue.Change{
		Receipt: o.receipt, Release: true, For: time.Duration(minutes) * time.Minute, Weak: e.Weak,
		Outcome: &queue.Outcome{Class: e.Class, Failure: e.Failure, Reason: e.Reason},
	})
	want, dead := c.p.Poison.Fail(before, e, time.Now().UnixMicro())
	if got := c.known(o.n); !alike(got, want) {
		t.Fatalf("after %s had failed with %+v its payload is %+v, want %+v", o.body, e, got, want)
	}
	c.released(o, minutes, dead)
}

func (c *crowd) released(o *copied, minutes int, dead bool) {
	if o.leased, o.gone = false, false; dead || c.exhausted(o) {
		c.die(o)
		return
	}
	o.held, o.visible = c.fifo && minutes > 0, c.now+minutes
}

// releaseCopy gives a delivery back, or asks for other time.
func (c *crowd) releaseCopy(t *rapid.T) {
	o, minutes := c.pickCopy(t), rapid.IntRange(0, 3).Draw(t, "minutes")
	change := queue.Change{Receipt: o.receipt, Release: rapid.Bool().Draw(t, "release"), For: time.Duration(minutes) * time.Minute}
	change.Refund = change.Release && rapid.Bool().Draw(t, "refund")
	c.change(change)
	if change.Refund {
		o.receives--
	}
	switch {
	case change.Release || minutes == 0:
		c.released(o, minutes, false)
	case o.flies(c.now): // else it stays visible
		o.visible, o.gone = c.now+minutes, false
	}
}

func (c *crowd) vanishCopies(t *rapid.T) {
	o := c.pickCopy(t)
	if err := c.store.Vanish(c.ctx(), c.q.ID, []queue.Receipt{o.receipt}, rapid.IntRange(1, 2).Draw(t, "holding")); err != nil {
		t.Fatal(err)
	}
	o.gone = true
}

func (c *crowd) ageCopies(t *rapid.T) { c.pass(rapid.IntRange(1, 4).Draw(t, "minutes")) }

func (c *crowd) pass(minutes int) {
	c.age(time.Duration(minutes) * time.Minute)
	c.now += minutes
}

// lateCopy deletes by any receipt there ever was.
func (c *crowd) lateCopy(t *rapid.T) {
	if len(c.past) == 0 {
		t.Skip("nothing was received yet")
	}
	late := c.past[len(c.past)-1-rapid.IntRange(0, len(c.past)-1).Draw(t, "late")]
	o := c.find(late.body)
	switch {
	case o != nil && o.receipt == late.receipt && (o.leased && !c.fifo || o.flies(c.now)):
		c.worked(t, o)
		return
	case o == nil || o.receipt.Bucket != late.receipt.Bucket || o.receipt.Sequence != late.receipt.Sequence:
		c.done(queue.Message{Receipt: late.receipt}) // it is gone, and that is all
	}
}

// sweepCopies sets aside what used its receives up.
func (c *crowd) sweepCopies(t *rapid.T) {
	swept, err := c.store.Sweep(c.ctx(), 1000)
	suite.Must(t, err)
	before := len(c.alive)
	for _, o := range slices.Clone(c.alive) {
		if c.exhausted(o) && o.visible <= c.now {
			c.die(o)
		}
	}
	suite.FatalIf(t, swept.Moved != before-len(c.alive), "%d messages were set aside, want %d", swept.Moved, before-len(c.alive))
	c.bury(t, swept.Queues)
}

func (c *crowd) purgeCopies(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "purge") > 0 {
		t.Skip("not often")
	}
	c.must(c.Purge(c.ctx(), c.q.Name))
	c.alive = nil
	if rapid.Bool().Draw(t, "clean") {
		c.clean()
	}
}

// redriveCopies sends all letters back.
func (c *crowd) redriveCopies(t *rapid.T) {
	if len(c.dead) == 0 {
		t.Skip("nobody is dead")
	}
	letters, err := c.Peek(c.ctx(), c.p.DeadLetter, 0, 100)
	suite.Must(t, err)
	task := c.redrive(queue.MoveTask{Source: c.p.DeadLetter})
	if step := c.step(task.ID); step.Moved != len(letters) {
		t.Fatalf("of %d letters %d were sent back", len(letters), step.Moved)
	}
	for _, m := range letters {
		was, ok := c.dead[string(m.Body)]
		suite.FatalIf(t, !ok, "%s is dead", m.Body)
		delete(c.dead, was.body)
		c.alive = append(c.alive, &copied{body: was.body, group: was.group, n: was.n, priority: was.priority, since: c.now, visible: c.now})
	}
}

// expireCopies removes what is kept no longer.
func (c *crowd) expireCopies(t *rapid.T) {
	n, err := c.store.Expire(c.ctx(), c.q.ID, c.p, c.retention(), 1000)
	suite.Must(t, err)
	before := len(c.alive)
	for _, o := range slices.Clone(c.alive) {
		switch {
		case !c.old(o) || c.p.KeepExpired && o.locks(c.now):
		case c.p.KeepExpired:
			c.die(o)
		default:
			c.remove(o)
		}
	}
	suite.FatalIf(t, n != before-len(c.alive), "%d messages expired, want %d", n, before-len(c.alive))
	c.bury(t, nil)
	c.lose(t)
}

// switchOff has payloads judged no more, or again.
func (c *crowd) switchOff(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "switch") > 0 {
		t.Skip("not often")
	}
	c.q.Settings.Quarantine.Off = !c.q.Settings.Quarantine.Off
	c.p.Poison = c.q.Settings.Quarantine.Poison()
	q, err := c.store.UpdateQueue(c.ctx(), c.q)
	suite.Must(t, err)
	c.q = q
}

// reopen has the store begin anew with what it has stored.
func (c *crowd) reopen(t *rapid.T) {
	if c.harness.Reopen == nil || rapid.IntRange(0, 9).Draw(t, "reopen") > 0 {
		t.Skip("not often")
	}
	c.store = c.harness.Reopen(c.T, c.store)
	c.Engine = rigOver(c.T, c.harness, c.store).Engine
}

// forgetCase is what an operator does who releases a payload.
func (c *crowd) forgetCase(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "forget") > 0 {
		t.Skip("not often")
	}
	n := rapid.SampledFrom([]byte{1, 2, 3}).Draw(t, "payload")
	c.set(work(n), nil)
}

// drain is done with all that there is: nothing may wait for ever.
func (c *crowd) drain(t *rapid.T) {
	for range 3 {
		c.pass(60)
		c.expireCopies(t)
		c.sweepCopies(t)
		for {
			got := c.receive(t, 10, 1)
			if len(got.Messages) == 0 && got.Next != 0 {
				break
			}
			for i := range got.Messages {
				c.worked(t, c.find(string(got.Messages[i].Body)))
			}
		}
	}
	if len(c.alive) > 0 {
		t.Fatalf("%+v is left", *c.alive[0])
	}
	c.compare(t)
}
