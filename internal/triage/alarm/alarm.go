package alarm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/errlog"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
	"github.com/bezoar-dev/bezoar/queue"
)

// Alarms watches over dead letters. All methods are safe for concurrent use.
type Alarms struct {
	config  Config
	id      string // of this process among those that share the store
	teller  *tell.Teller
	looking *errlog.Limiter

	mu     sync.Mutex // guards status; never held while waiting
	status []Status
}

// Status is where one alarm stands, as this process sees it.
type Status struct {
	Name      string
	Kind      Kind
	Queue     string   // * for all
	To        []string // who is told: a webhook's host, a command's program
	Firing    bool
	Since     time.Time // when it began to fire, or ceased; zero: it never fired
	Value     float64   // at the last look: letters, seconds; of Oldest 0 while within the limit
	Limit     float64
	Looked    time.Time // when the last look succeeded
	ToldAt    time.Time // when somebody was told last, by any process
	Delivered int64     // events that this process told
	Undone    int64     // events that it could not
	Failure   string    // why not, or why the last look failed; "" when all is well
}

const (
	prefix   = "alarm/"
	heldFor  = 2 * time.Minute // a process that has not told by then is gone
	lookFor  = 30 * time.Second
	keepFor  = 30 * 24 * time.Hour
	freshFor = 7 * 24 * time.Hour // then a mark is put again, so that it stays
)

// New returns alarms. Someone has to Run them.
func New(c Config) (*Alarms, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("set up alarms: %w", err)
	}
	c = c.withDefaults()
	a := &Alarms{config: c, id: newID(), teller: tell.New(tell.Config{Environ: c.Environ, Secrets: c.Secrets, Now: c.Now}), looking: errlog.New(errlog.Config{Log: c.Log, What: "watching letters"})}
	for _, r := range c.Rules {
		a.status = append(a.status, Status{Name: r.Name, Kind: r.Kind, Queue: r.queue(), To: r.to(), Limit: r.number()})
	}
	return a, nil
}

// Status returns where each alarm stands, in the order of the rules.
func (a *Alarms) Status() []Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Status(nil), a.status...)
}

func (a *Alarms) note(i int, change func(*Status)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.status[i])
}

// Run looks and tells until ctx is over. Any number of processes may run alarms
// on one store.
func (a *Alarms) Run(ctx context.Context) error {
	var telling sync.WaitGroup
	defer telling.Wait()
	tick := time.NewTicker(a.config.Every)
	defer tick.Stop()
	for {
		a.lookAll(ctx, &telling)
		if ctx.Err() == nil {
			a.looking.Passed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// lookAll looks at every rule. Whatever there is to tell is told beside: a slow
// listener delays nobody else.
func (a *Alarms) lookAll(ctx context.Context, telling *sync.WaitGroup) {
	within, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	marks, err := a.config.Letters.Marks().Marks(within, prefix)
	if err != nil {
		err = fmt.Errorf("read the state of alarms: %w", err)
	}
	kept := make(map[string]queue.Mark, len(marks))
	for _, m := range marks {
		kept[m.Key] = m
	}
	for i, r := range a.config.Rules {
		if ctx.Err() != nil {
			return
		}
		e, failed := (*Event)(nil), err
		if failed == nil {
			e, failed = a.look(within, i, r, kept[prefix+r.Name])
		}
		if failed != nil && ctx.Err() == nil {
			a.note(i, func(s *Status) { s.Failure = clip(failed.Error()) })
			a.looking.Failed("look for alarm "+r.Name, failed)
		}
		if e != nil {
			telling.Go(func() { a.tell(ctx, i, r, *e) })
		}
	}
}

// look takes a look at one rule, and returns what this process has to tell.
func (a *Alarms) look(ctx context.Context, i int, r Rule, mark queue.Mark) (*Event, error) {
	s, err := parse(mark)
	if err != nil {
		return nil, err
	}
	now := a.config.Now()
	m, err := a.measure(ctx, r, now)
	if err != nil {
		return nil, err
	}
	next, news := s.look(r, m, now)
	switch {
	case news:
		next.Pending, next.Holder, next.Tries = next.event(r, m, newID(), now), a.id, 1
	case s.Pending != nil && (s.Holder == "" || s.Holder != a.id && mark.Age > heldFor):
		if s.Tries >= maxTries {
			next, news = next.told(errors.New("every process that tried died"), now), false
			break
		}
		next.Holder, next.Tries, news = a.id, s.Tries+1, true
	}
	a.note(i, func(st *Status) {
		st.Firing, st.Since, st.Value, st.Looked, st.ToldAt, st.Failure = next.Firing, next.Since, m.value, now, next.ToldAt, next.Failure
	})
	if same(s, next) && (mark.Key == "" || mark.Age < freshFor) {
		return nil, nil
	}
	switch _, err := a.put(ctx, r, next, mark.Version); {
	case errors.Is(err, queue.ErrConflict):
		return nil, nil // another process was faster; the next look sees what it made of it
	case err != nil:
		return nil, err
	}
	if !news {
		return nil, nil
	}
	return next.Pending, nil
}

// tell tells one event and writes down that it did.
func (a *Alarms) tell(ctx context.Context, i int, r Rule, e Event) {
	failure := a.deliver(ctx, r, e)
	stopped := failure != nil && ctx.Err() != nil
	if failure != nil && !stopped {
		a.config.Log.Error("an alarm could not be told", "alarm", r.Name, "event", e.ID, "status", e.Status, "err", failure)
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := a.settle(ctx, r, e.ID, func(s state) state {
		if stopped { // somebody else may tell it at once
			s.Holder = ""
			return s
		}
		return s.told(failure, a.config.Now())
	})
	if err != nil {
		a.config.Log.Error("an alarm that was told may be told again", "alarm", r.Name, "event", e.ID, "err", err)
	}
	a.note(i, func(s *Status) {
		switch {
		case failure == nil:
			s.Delivered, s.Failure, s.ToldAt = s.Delivered+1, "", a.config.Now()
		case !stopped:
			s.Undone, s.Failure = s.Undone+1, clip(failure.Error())
		}
	})
}

// deliver tells an event to everybody that the rule names.
func (a *Alarms) deliver(ctx context.Context, r Rule, e Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var failures []error
	if r.Webhook != "" {
		failures = append(failures, a.teller.Post(ctx, tell.Webhook{URL: r.Webhook, Secret: r.Secret}, e.ID, body))
	}
	if len(r.Command) > 0 {
		failures = append(failures, a.teller.Run(ctx, r.Command, []string{"BEZOAR_ALARM=" + r.Name, "BEZOAR_ALARM_STATUS=" + e.Status}, body))
	}
	return errors.Join(failures...)
}

// settle changes the state as long as the event is this process's.
func (a *Alarms) settle(ctx context.Context, r Rule, event string, change func(state) state) error {
	for {
		marks, err := a.config.Letters.Marks().Marks(ctx, prefix+r.Name)
		if err != nil {
			return err
		}
		var mark queue.Mark
		for _, m := range marks {
			if m.Key == prefix+r.Name {
				mark = m
			}
		}
		s, err := parse(mark)
		if err != nil {
			return err
		}
		if s.Pending == nil || s.Pending.ID != event || s.Holder != a.id {
			return errors.New("it took so long that another process took over")
		}
		if _, err = a.put(ctx, r, change(s), mark.Version); !errors.Is(err, queue.ErrConflict) {
			return err
		}
	}
}

func parse(m queue.Mark) (s state, err error) {
	if m.Key == "" {
		return s, nil
	}
	if err := json.Unmarshal(m.Doc, &s); err != nil {
		return s, fmt.Errorf("read mark %s: %w", m.Key, err)
	}
	return s, nil
}

func (a *Alarms) put(ctx context.Context, r Rule, s state, version int64) (queue.Mark, error) {
	doc, err := json.Marshal(s)
	if err != nil {
		return queue.Mark{}, err
	}
	return a.config.Letters.Marks().PutMark(ctx, queue.Mark{Key: prefix + r.Name, Version: version, Doc: doc, TTL: keepFor})
}

// same compares as the store would.
func same(a, b state) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
