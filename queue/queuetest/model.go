package queuetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/queue"
)

// oracle is a queue as the rules say, in minutes: what the store itself takes
// is less than one and does not count.
type oracle struct {
	fifo  bool
	now   int
	alive []*modelMessage // by the order of sending
	dead  int
}

type modelMessage struct {
	id, group string
	priority  int
	visible   int
	hold      bool // in flight, or held for its group
	leased    bool
	gen       int
	receives  int
}

const modelReceives = 3

func (o *oracle) exhausted(m *modelMessage) bool { return m.receives >= modelReceives }
func (o *oracle) locks(m *modelMessage) bool     { return m.hold && m.visible > o.now }

// available returns what a receive may get, by group in a FIFO queue.
func (o *oracle) available() map[string][]*modelMessage {
	out, locked := map[string][]*modelMessage{}, map[string]bool{}
	for _, m := range o.alive {
		key := ""
		if o.fifo {
			key = m.group
		}
		locked[key] = locked[key] || o.fifo && o.locks(m) // nothing behind it overtakes
		if m.visible <= o.now && !o.exhausted(m) && !locked[key] {
			out[key] = append(out[key], m)
		}
	}
	return out
}

func (o *oracle) find(id string) *modelMessage {
	for _, m := range o.alive {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (o *oracle) remove(m *modelMessage) {
	o.alive = slices.DeleteFunc(o.alive, func(other *modelMessage) bool { return other == m })
}

func (o *oracle) die(m *modelMessage) {
	o.remove(m)
	o.dead++
}

// check says what a write with a receipt of generation gen answers.
func (o *oracle) check(m *modelMessage, gen int, gone queue.Code) queue.Code {
	switch {
	case m == nil:
		return gone
	case m.gen != gen:
		return queue.ErrReceiptStale
	case o.fifo && !(m.leased && m.visible > o.now):
		return queue.ErrReceiptExpired
	}
	return ""
}

func (o *oracle) counts() (c queue.Counts) {
	for _, m := range o.alive {
		switch {
		case m.visible <= o.now:
			c.Visible++
		case m.hold:
			c.InFlight++
		default:
			c.Delayed++
		}
	}
	return c
}

// delivery is a receipt that somebody has, perhaps a late one.
type delivery struct {
	id      string
	gen     int
	receipt queue.Receipt
}

// player plays one random game against the oracle.
type player struct {
	oracle
	ctx         context.Context //nolint:containedctx // of one game
	rig         *rig
	name, grave string
	deliveries  []delivery
}

func playMessages(fifo bool) func(*rapid.T, *rig, string) {
	return func(t *rapid.T, r *rig, game string) {
		p, suffix := &player{oracle: oracle{fifo: fifo}, ctx: r.ctx(), rig: r}, ""
		if fifo {
			suffix = ".fifo"
		}
		p.name, p.grave = game+suffix, "grave-"+game+suffix
		for _, name := range []string{p.grave, p.name} {
			s := queue.DefaultSettings()
			s.FIFO = fifo
			s.Quarantine.Off = true // all have the same body, and the model knows no payloads
			if name == p.name {
				s.DeadLetter = queue.DeadLetter{Queue: p.grave, MaxReceives: modelReceives}
			}
			if _, err := r.CreateQueue(p.ctx, name, s, nil); err != nil {
				t.Fatal(err)
			}
		}
		defer func() { // also of a game that is lost: the next one's sweep is its own
			for _, name := range []string{p.name, p.grave} {
				r.check(r.DeleteQueue(p.ctx, name))
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"send": p.send, "receive": p.receive, "receive again": p.receive, "delete": p.delete, "change": p.change,
			"release": p.release, "age": p.age, "sweep": p.sweep, "": p.compare,
		})
	}
}

func (p *player) send(t *rapid.T) {
	in := queue.SendInput{Body: []byte("x"), Group: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group")}
	m := &modelMessage{group: in.Group, visible: p.now}
	if p.fifo {
		in.Dedup = fmt.Sprint(rapid.Uint64().Draw(t, "dedup"), len(p.alive), p.dead, len(p.deliveries), p.now)
	} else {
		m.priority = rapid.IntRange(0, 2).Draw(t, "priority")
		delay := rapid.IntRange(0, 2).Draw(t, "delay")
		m.visible += delay
		in.Priority, in.Delay = m.priority, new(time.Duration(delay)*time.Minute)
	}
	sent, err := p.rig.Send(p.ctx, p.name, in)
	suite.Must(t, err)
	if m.id = sent.ID; !sent.Duplicate {
		p.alive = append(p.alive, m)
	}
}

func (p *player) receive(t *rapid.T) {
	limit, lease := rapid.IntRange(1, 4).Draw(t, "max"), rapid.IntRange(1, 3).Draw(t, "lease")
	got, err := p.rig.Receive(p.ctx, p.name, queue.ReceiveInput{Max: limit, Visibility: new(time.Duration(lease) * time.Minute)})
	suite.Must(t, err)
	available := p.available()
	total := 0
	for _, g := range available {
		slices.SortStableFunc(g, func(a, b *modelMessage) int { return cmp.Compare(b.priority, a.priority) })
		total += len(g)
	}
	if want := min(limit, total); len(got) != want {
		t.Fatalf("received %d messages, want %d", len(got), want)
	}
	taken := map[string]int{}
	for _, message := range got {
		key := ""
		if p.fifo {
			key = message.Group
		}
		m := p.find(message.ID)
		suite.FatalIf(t, m == nil || !slices.Contains(available[key], m), "received %s, which is not to be had", message.ID)
		want := available[key][taken[key]]
		suite.FatalIf(t, p.fifo && want != m || want.priority != m.priority, "received %+v, want %+v first", m, want)
		taken[key]++
		m.gen++
		m.receives++
		m.hold, m.leased, m.visible = true, true, p.now+lease
		suite.FatalIf(t, message.Receives != m.receives, "received %d times, want %d", message.Receives, m.receives)
		p.deliveries = append(p.deliveries, delivery{m.id, m.gen, message.Receipt})
	}
}

// pick draws a delivery, most likely a recent one.
func (p *player) pick(t *rapid.T) delivery {
	if len(p.deliveries) == 0 {
		t.Skip("nothing was received yet")
	}
	return p.deliveries[len(p.deliveries)-1-rapid.IntRange(0, len(p.deliveries)-1).Draw(t, "delivery")]
}

func (p *player) want(t *rapid.T, err error, want queue.Code) bool {
	suite.FatalIf(t, queue.CodeOf(err) != want || want == "" && err != nil, "error %v, want %q", err, want)
	return want == ""
}

func (p *player) delete(t *rapid.T) {
	d := p.pick(t)
	m := p.find(d.id)
	if p.want(t, p.rig.Delete(p.ctx, p.name, d.receipt), p.check(m, d.gen, "")) && m != nil {
		p.remove(m)
	}
}

func (p *player) change(t *rapid.T) {
	d, minutes := p.pick(t), rapid.IntRange(0, 3).Draw(t, "minutes")
	m := p.find(d.id)
	err := p.rig.ChangeVisibility(p.ctx, p.name, d.receipt, time.Duration(minutes)*time.Minute)
	if !p.want(t, err, p.check(m, d.gen, queue.ErrMessageGone)) {
		return
	}
	if minutes > 0 && !(m.leased && m.visible > p.now) { // it stays visible
		return
	}
	if m.hold, m.leased, m.visible = minutes > 0, minutes > 0, p.now+minutes; minutes == 0 && p.exhausted(m) {
		p.die(m)
	}
}

func (p *player) release(t *rapid.T) {
	d, minutes, refund := p.pick(t), rapid.IntRange(0, 2).Draw(t, "minutes"), rapid.Bool().Draw(t, "refund")
	m := p.find(d.id)
	err := p.rig.Release(p.ctx, p.name, queue.ReleaseInput{Receipt: d.receipt, Delay: time.Duration(minutes) * time.Minute, Refund: refund})
	if !p.want(t, err, p.check(m, d.gen, queue.ErrMessageGone)) {
		return
	}
	m.gen++
	m.hold, m.leased, m.visible = p.fifo && minutes > 0, false, p.now+minutes
	if refund {
		m.receives--
	}
	if p.exhausted(m) {
		p.die(m)
	}
}

func (p *player) age(t *rapid.T) {
	minutes := rapid.IntRange(1, 3).Draw(t, "minutes")
	p.rig.age(time.Duration(minutes) * time.Minute)
	p.now += minutes
}

func (p *player) sweep(t *rapid.T) {
	swept, err := p.rig.store.Sweep(p.ctx, 1000)
	suite.Must(t, err)
	before := p.dead
	for _, m := range slices.Clone(p.alive) {
		if p.exhausted(m) && m.visible <= p.now {
			p.die(m)
		}
	}
	suite.FatalIf(t, swept.Moved != p.dead-before, "%d messages were set aside, want %d", swept.Moved, p.dead-before)
}

func (p *player) compare(t *rapid.T) {
	for name, want := range map[string]queue.Counts{p.name: p.counts(), p.grave: {Visible: int64(p.dead)}} {
		got, err := p.rig.Counts(p.ctx, name)
		suite.Must(t, err)
		if got.Oldest = 0; got != want {
			t.Fatalf("%s holds %+v, want %+v", name, got, want)
		}
	}
}
