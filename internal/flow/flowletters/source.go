package flowletters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/policy/task"
	"github.com/bezoar-dev/bezoar/queue"
)

// Prefix begins the names of the queues that show dead letters of flows.
const Prefix = "flow:"

const (
	maxRuns    = 200             // newest runs that are read
	maxLetters = 10_000          // letters that are shown
	fresh      = 5 * time.Second // how long the letters of a run are cached
	patience   = time.Minute     // how long a redrive waits for its result
	often      = 100 * time.Millisecond
)

// Store is the part of a [flow.Store] that a [Source] needs.
type Store interface {
	ListRuns(ctx context.Context, q flow.RunQuery) ([]flow.Run, error)
	Instances(ctx context.Context, run string) ([]flow.Instance, error)
	Order(ctx context.Context, o flow.Order) error
}

// Source shows the dead letters of one flow. It is safe for concurrent use.
type Source struct {
	triage.Listing
	flow  string
	store Store
	wake  func()

	mu    sync.Mutex // guards the fields below
	known map[string]held
}

// held holds the letters of a run.
type held struct {
	version int64
	at      time.Time
	letters []queue.Death // newest first
}

var _ triage.Source = (*Source)(nil)

// New returns the source of one flow. wake is called after an order, and may be nil.
func New(name string, store Store, wake func()) *Source {
	if wake == nil {
		wake = func() {}
	}
	s := &Source{flow: name, store: store, wake: wake, known: map[string]held{}}
	s.Listing = s.all
	return s
}

func (s *Source) Name() string { return Prefix + s.flow }

// idOf returns the ID of a letter. It stays the same as long as the instance has that letter.
func idOf(in *flow.Instance) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", in.Run, in.Task, in.Index, in.History.Attempts))
	return "fl-" + hex.EncodeToString(sum[:6])
}

// where returns the instance of a letter.
func where(m *queue.Death) (run, name string, index int) {
	index, _ = strconv.Atoi(m.Attributes["Index"].String)
	return m.Attributes["Run"].String, m.Attributes["Task"].String, index
}

// all returns the letters of a selection, newest first.
func (s *Source) all(ctx context.Context, sel queue.Selection) ([]queue.Death, error) {
	var runs []flow.Run
	for _, state := range []flow.RunState{flow.RunHeld, flow.RunRunning} {
		some, err := s.store.ListRuns(ctx, flow.RunQuery{Flow: s.flow, State: state, Limit: maxRuns})
		if err != nil {
			return nil, fmt.Errorf("list runs of flow %s: %w", s.flow, err)
		}
		runs = append(runs, some...)
	}
	var out []queue.Death
	seen := make(map[string]bool, len(runs))
	for i := range runs {
		seen[runs[i].ID] = true
		letters, err := s.of(ctx, &runs[i])
		if err != nil {
			return nil, err
		}
		for _, m := range letters {
			if triage.Selects(sel, m) {
				out = append(out, m)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.known, func(run string, _ held) bool { return !seen[run] })
	triage.Newest(out)
	return out[:min(len(out), maxLetters)], nil
}

func (s *Source) of(ctx context.Context, r *flow.Run) ([]queue.Death, error) {
	s.mu.Lock()
	k, ok := s.known[r.ID]
	s.mu.Unlock()
	if ok && k.version == r.Version && time.Since(k.at) < fresh {
		return k.letters, nil
	}
	k = held{version: r.Version, at: time.Now()}
	all, err := s.store.Instances(ctx, r.ID)
	if err != nil {
		return nil, fmt.Errorf("list the tasks of run %s: %w", r.ID, err)
	}
	for i := range all {
		if all[i].State == task.DeadLetter && len(k.letters) < maxLetters {
			k.letters = append(k.letters, s.death(r, &all[i]))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[r.ID] = k
	return k.letters, nil
}

// death converts an instance into a dead letter. Its body describes the command and its inputs.
func (s *Source) death(r *flow.Run, in *flow.Instance) queue.Death {
	params := make(map[string]string, len(r.Params))
	maps.Copy(params, r.Params)
	maps.Copy(params, in.Set)
	body, _ := json.Marshal(map[string]any{"run": in.Run, "task": in.Task, "index": in.Index, "item": in.Item, "params": params}) // strings and numbers
	o := queue.Outcome{Reason: in.Why, Failure: in.Group}
	var attempts []queue.Attempt
	for _, f := range in.History.Last {
		one := queue.Outcome{Failure: f.Fingerprint, Reason: f.Reason}
		_ = one.Class.UnmarshalText([]byte(f.Class)) // an unknown class of a later version is shown as done
		o.Class = one.Class
		attempts = append(attempts, queue.Attempt{Received: f.At, Ended: f.At, Outcome: one})
	}
	if n := len(in.History.Last); n > 0 && in.History.Last[n-1].Reason != "" {
		o.Reason = in.History.Last[n-1].Reason + ": " + in.Why
	}
	id := idOf(in)
	text := func(v string) queue.Attribute { return queue.Attribute{DataType: "String", String: v} }
	return queue.Death{Queue: s.Name(), Message: queue.Message{
		ID: id, Body: body, Sent: r.Created, Sequence: triage.SequenceOf(in.Since, id),
		Attributes: map[string]queue.Attribute{
			"Run": text(in.Run), "Task": text(in.Task), "Index": text(strconv.Itoa(in.Index)), "Item": text(in.Item),
		},
		Letter: &queue.Letter{
			Origin: s.Name(), Died: in.Since, Receives: in.History.Attempts, Outcome: o, Attempts: attempts,
			Group: queue.GroupKey(o, bezoar.Fingerprint{}),
		},
	}}
}

func (s *Source) Letter(ctx context.Context, id string) (queue.Death, error) {
	if !strings.HasPrefix(id, "fl-") {
		return queue.Death{}, queue.ErrLetterNotFound
	}
	all, err := s.all(ctx, queue.Selection{IDs: []string{id}})
	if err != nil {
		return queue.Death{}, err
	}
	if len(all) == 0 {
		return queue.Death{}, queue.ErrLetterNotFound
	}
	return all[0], nil
}

// Redrive retries one letter and returns the result. A retry that takes longer than patience counts as done: the letter is
// gone, and a later failure creates a new one.
func (s *Source) Redrive(ctx context.Context, id string) (queue.Outcome, error) {
	in, err := s.order(ctx, id, flow.VerbRetry, "redriven")
	if err != nil {
		return queue.Outcome{}, err
	}
	waits, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		now, err := s.instance(ctx, &in)
		switch {
		case err != nil:
			return queue.Outcome{}, err
		case now.State == task.DeadLetter && idOf(&now) != id, now.State.Over() && now.State != task.Success:
			o := queue.Outcome{Class: bezoar.Bug, Reason: now.Why}
			if n := len(now.History.Last); n > 0 {
				_ = o.Class.UnmarshalText([]byte(now.History.Last[n-1].Class)) // an unknown class stays bug
			}
			return o, nil
		case now.State == task.Success:
			return queue.Outcome{Class: bezoar.Done, Reason: "it worked"}, nil
		}
		select {
		case <-tick.C:
		case <-waits.Done():
			if ctx.Err() != nil {
				return queue.Outcome{}, ctx.Err()
			}
			if idOf(&now) == id && now.State == task.DeadLetter {
				return queue.Outcome{}, errors.New("the retry has not started yet: check that a node plans the run")
			}
			return queue.Outcome{Class: bezoar.Done, Reason: "it runs again: " + string(now.State)}, nil
		}
	}
}

// Discard cancels the instance. Tasks that need it do not run.
func (s *Source) Discard(ctx context.Context, id string) error {
	_, err := s.order(ctx, id, flow.VerbCancel, "discarded")
	return err
}

func (s *Source) order(ctx context.Context, id string, v flow.Verb, why string) (flow.Instance, error) {
	m, err := s.Letter(ctx, id)
	if err != nil {
		return flow.Instance{}, err
	}
	in := flow.Instance{}
	in.Run, in.Task, in.Index = where(&m)
	err = s.store.Order(ctx, flow.Order{Run: in.Run, Verb: v, Task: in.Task, Index: in.Index, Who: "triage", Reason: why + " as letter " + id, At: time.Now()})
	if errors.Is(err, flow.ErrNotFound) || errors.Is(err, flow.ErrOver) {
		return in, fmt.Errorf("%w: %w", queue.ErrLetterNotFound, err)
	}
	if err != nil {
		return in, fmt.Errorf("%s task %s of run %s: %w", v, in.Task, in.Run, err)
	}
	s.mu.Lock()
	delete(s.known, in.Run)
	s.mu.Unlock()
	s.wake()
	return in, nil
}

// instance reads the present state of an instance.
func (s *Source) instance(ctx context.Context, of *flow.Instance) (flow.Instance, error) {
	all, err := s.store.Instances(ctx, of.Run)
	if err != nil {
		return flow.Instance{}, fmt.Errorf("list the tasks of run %s: %w", of.Run, err)
	}
	i := slices.IndexFunc(all, func(in flow.Instance) bool { return in.Task == of.Task && in.Index == of.Index })
	if i < 0 {
		return flow.Instance{}, queue.ErrLetterNotFound
	}
	return all[i], nil
}
