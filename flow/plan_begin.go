package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// laneKey holds the conditions that instances of one lane share.
type laneKey struct {
	pool, downstream, labels string
	alone                    bool // they run alone on their node
}

// lane holds ready instances, oldest first.
type lane struct {
	laneKey
	labels  []string
	size    int // of the pool
	all     []*inst
	blocked time.Time // no instance begins before
}

// lanes holds the lanes of one run.
type lanes struct {
	byKey map[laneKey]*lane
	all   []*lane
	n     int // number of instances
}

// enqueue adds a ready instance to its lane.
func (p *plan) enqueue(i *inst) {
	if i.Index < 0 {
		p.unfolded = append(p.unfolded, i)
		return
	}
	if i.queued {
		return
	}
	i.queued = true
	t := i.node.task
	key := laneKey{t.Pool, t.Downstream, strings.Join(t.RunsOn, ","), i.History.Alone()}
	l := p.ready.byKey[key]
	if l == nil {
		l = &lane{laneKey: key, labels: t.RunsOn, size: p.run.Definition.Pools[t.Pool]}
		p.ready.byKey[key] = l
		p.ready.all = append(p.ready.all, l)
	}
	l.all = append(l.all, i)
	p.ready.n++
}

// next takes the first instance of a lane that may begin; nil if there is none.
func (p *plan) next(l *lane) *inst {
	for len(l.all) > 0 {
		i := l.all[0]
		l.all = l.all[1:]
		p.ready.n--
		i.queued = false
		switch {
		case i.State != task.Ready: // for example, it was cancelled
		case i.History.Attempts == 0 && !i.asked && i.node.gated():
			i.node.parked = append(i.node.parked, i)
		default:
			return i
		}
	}
	l.all = nil
	return nil
}

// back puts an instance at the end of its lane.
func (p *plan) back(i *inst) {
	if i.State == task.Ready {
		p.enqueue(i)
	}
}

// prepare creates the next attempt of an instance. It returns false if that is impossible: the instance then becomes a dead
// letter.
func (p *plan) prepare(i *inst, now time.Time) (Attempt, Spec, bool) {
	spec, key, effect, err := p.spec(i)
	if err != nil {
		p.refuse(i, err, now)
		return Attempt{}, Spec{}, false
	}
	t := i.node.task
	a := Attempt{
		Run: i.Run, Task: i.Task, Index: i.Index, N: spec.N, Labels: t.RunsOn, Pool: t.Pool, Slots: t.Slots, PoolSize: p.run.Definition.Pools[t.Pool],
		Key: key, Limit: t.Limit, Effect: effect, State: AttemptIntended, Intended: now,
	}
	if key == "" {
		a.Limit = 0
	}
	return a, spec, true
}

// begin marks an instance as running its attempt.
func (p *plan) begin(i *inst, a Attempt, now time.Time) {
	p.move(i, task.Begin, "", now)
	i.History.Attempts++
	if i.First.IsZero() {
		i.First = now
	}
	i.attempt = &a
}

// began records that an attempt was stored.
func (p *plan) began(i *inst, a Attempt) { i.attempt = &a }

// notBegun records that it was not: no slot is free. The instance is then in no lane.
func (p *plan) notBegun(i *inst, now time.Time) {
	if i.History.Attempts--; i.History.Attempts == 0 {
		i.First = time.Time{}
	}
	i.attempt, i.Since = nil, now
	p.set(i, task.Ready)
}

// refuse sets aside an instance that cannot begin.
func (p *plan) refuse(i *inst, err error, now time.Time) {
	e := Ending{Class: bezoar.Invalid, Reason: err.Error()}
	i.last = e
	var v task.Verdict
	i.History, v = i.node.rules.Refuse(i.History, e.Reason, now)
	p.setAside(i, v, now)
}

// unfold finds the items of a task with Each, and creates its instances.
func (p *plan) unfold(i *inst, now time.Time) {
	n := i.node
	if n.unfolded() { // after a retry
		p.move(i, task.Begin, "", now)
		return
	}
	items, err := p.items(i)
	if err == nil && p.size+len(items) > MaxInstances {
		err = fmt.Errorf("%d items make more than %d instances of one run", len(items), MaxInstances)
	}
	if err != nil {
		p.refuse(i, fmt.Errorf("each: %w", err), now)
		return
	}
	if len(items) == 0 {
		p.move(i, task.Succeed, "there are no items", now)
		return
	}
	for k, item := range items {
		one := &inst{Instance: Instance{Run: i.Run, Task: i.Task, Index: k, Item: item, State: task.Ready, Since: now}, node: n}
		p.place(one)
		p.touch(one)
	}
	p.move(i, task.Begin, fmt.Sprintf("%d items", len(items)), now)
}

func (p *plan) items(i *inst) ([]string, error) {
	each := i.node.task.Each
	data, err := p.data(i)
	if err != nil {
		return nil, err
	}
	r := &renderer{cache: p.cache, data: data}
	switch {
	case each.Glob != "":
		pattern := r.text(each.Glob)
		if r.err != nil {
			return nil, r.err
		}
		if dir := p.run.Definition.Dir; dir != "" && !filepath.IsAbs(pattern) {
			pattern = filepath.Join(dir, pattern)
		}
		return p.glob(pattern)
	case each.From != "":
		return itemsOf(p.byName[each.From])
	default:
		all := r.list(each.List)
		return all, r.err
	}
}

// itemsOf returns the items in the outputs of a task: JSON arrays or lines.
func itemsOf(n *node) (all []string, err error) {
	for _, i := range n.insts {
		if i.State != task.Success {
			continue
		}
		text := strings.TrimSpace(string(i.Output))
		if !strings.HasPrefix(text, "[") {
			for line := range strings.Lines(text) {
				if line = strings.TrimRight(line, "\r\n"); line != "" {
					all = append(all, line)
				}
			}
			continue
		}
		var raw []json.RawMessage
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			return nil, fmt.Errorf("the output of %s is not a JSON array: %w", n.task.Name, err)
		}
		for _, one := range raw {
			var s string
			if json.Unmarshal(one, &s) != nil {
				s = string(one)
			}
			all = append(all, s)
		}
	}
	if len(all) > MaxInstances {
		return nil, errors.New("there are too many items")
	}
	return all, nil
}
