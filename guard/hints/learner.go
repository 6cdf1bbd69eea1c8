package hints

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
)

// The bounds of a Learner.
const (
	MaxHead = 64 << 10 // of an answer that are read
	maxBody = 64 << 10 // a longer request teaches nothing about fields
)

// LearnConfig says what a Learner keeps. Its zero value is useful: without a
// Store it still tells predicted from actual.
type LearnConfig struct {
	Store Store `json:"-"` // nil: fields are not learned
	// Tell is told of each answer that Submit brought, with what that says: a
	// Guard's Observe.
	Tell func(guard.Observation) `json:"-"`

	Interval   time.Duration // between tellings, at least; default 1 min
	Keep       time.Duration // how long a lower bound stays that is not seen again; default 7 days
	HalfLife   time.Duration // of what is known of shapes; default 24 h
	Above      float64       // cardinalities up to this are not told, since as much is assumed of every field; default 100 000
	MaxLearned int           // fields; default 5000
	MaxShapes  int           // default 1000
}

// WithDefaults returns c with every zero field set to its default.
func (c LearnConfig) WithDefaults() LearnConfig {
	set(&c.Interval, time.Minute)
	set(&c.Keep, 7*24*time.Hour)
	set(&c.HalfLife, 24*time.Hour)
	set(&c.MaxLearned, 5000)
	set(&c.MaxShapes, 1000)
	if c.Above == 0 {
		c.Above = 100_000
	}
	return c
}

// Validate joins every fault.
func (c LearnConfig) Validate() error {
	c = c.WithDefaults()
	var faults []error
	for _, d := range []struct {
		name string
		v    time.Duration
	}{{"Interval", c.Interval}, {"Keep", c.Keep}, {"HalfLife", c.HalfLife}} {
		if d.v < time.Second {
			faults = append(faults, fmt.Errorf("%s is %v, want 1s or more", d.name, d.v))
		}
	}
	if !(c.Above >= 0) {
		faults = append(faults, fmt.Errorf("Above is %v, want 0 or more", c.Above))
	}
	if c.MaxLearned < 1 || c.MaxLearned > guard.MaxHintIndices/2 {
		faults = append(faults, fmt.Errorf("MaxLearned is %d, want 1 to %d", c.MaxLearned, guard.MaxHintIndices/2))
	}
	if c.MaxShapes < 1 || c.MaxShapes > 1_000_000 {
		faults = append(faults, fmt.Errorf("MaxShapes is %d, want 1 to 1000000", c.MaxShapes))
	}
	return errors.Join(faults...)
}

// Seen is a query that was answered.
type Seen struct {
	Index     string  // of the request's path; only of a single one is learned
	Body      []byte  // of the request
	Answer    []byte  // its head
	Shape     uint64  // of the verdict
	Predicted float64 // the verdict's Cost
}

type fieldKey struct{ index, field string }

// bound is the most values of a field that one answer showed: in this period of
// half of Keep, and in the one before.
type bound struct{ now, before float64 }

// Learner learns from answers. It is safe for concurrent use.
type Learner struct {
	cfg LearnConfig

	mu      sync.Mutex // guards what follows
	fields  map[fieldKey]bound
	turned  time.Time // when the period began
	told    time.Time
	changed bool // since then
	again   bool // something was seen again since then
	shapes  shapes

	noteQueue
}

// NewLearner returns a Learner.
func NewLearner(c LearnConfig) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("learn hints: %w", err)
	}
	c = c.WithDefaults()
	l := &Learner{cfg: c, fields: map[fieldKey]bound{}, turned: time.Now(), shapes: shapes{max: c.MaxShapes, halfLife: c.HalfLife, all: map[uint64]*shape{}}}
	l.noteQueue.init()
	return l, nil
}

// Observe learns from one answer, and returns what it says. It takes time in
// line with MaxHead.
func (l *Learner) Observe(s Seen) Answer {
	var r answerReader
	var q request
	if l.cfg.Store != nil && single(s.Index) && len(s.Body) > 0 && len(s.Body) <= maxBody {
		if q.read(s.Body); !q.blind && q.n > 0 {
			r.asked = &q
			r.learn = func(a *asked, values float64) {
				if values > l.cfg.Above {
					l.learn(s.Index, a.field, values)
				}
			}
		}
	}
	r.read(s.Answer)
	if r.answer.Timed {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.shapes.add(time.Now(), s.Shape, s.Predicted, r.answer)
	}
	return r.answer
}

// single reports whether a path names one index.
func single(index string) bool {
	return index != "" && len(index) <= 255 && index[0] != '_' && !strings.ContainsAny(index, "*,?<>:%/ ")
}

const maxField = 512 // bytes of a name

func (l *Learner) learn(index string, field []byte, values float64) {
	if len(field) > maxField {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := fieldKey{index, string(field)}
	b, ok := l.fields[key]
	if !ok && len(l.fields) >= l.cfg.MaxLearned {
		return // those that are known stay: what comes may be made up
	}
	l.again = true
	if values > b.now {
		l.changed = l.changed || values > b.before
		b.now = values
		l.fields[key] = b
	}
}

// Run reads what Submit brings, and tells the Store what was learned, until ctx
// ends. Then it returns nil.
func (l *Learner) Run(ctx context.Context) error {
	tick := time.NewTicker(l.cfg.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.finish()
			return nil
		case n := <-l.notes:
			l.rest(ctx, l.look(n))
			if !l.news(time.Now()) {
				continue
			}
			if err := l.tell(time.Now()); err != nil {
				return err
			}
		case <-tick.C:
			if err := l.tell(time.Now()); err != nil {
				return err
			}
		}
	}
}

// retell is how many Intervals what is known, and seen again, keeps its age.
const retell = 10

func (l *Learner) tell(now time.Time) error {
	if l.cfg.Store == nil {
		return nil
	}
	set, changed := l.turn(now)
	if !changed {
		return nil
	}
	if err := l.cfg.Store.Set(guard.Learned, set, now); err != nil {
		return fmt.Errorf("learn hints: %w", err)
	}
	return nil
}

// news reports whether there is something to tell, and nothing was for a while.
func (l *Learner) news(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed && now.Sub(l.told) >= l.cfg.Interval
}

// turn begins a new period when it is time, and returns what is known.
func (l *Learner) turn(now time.Time) (guard.HintSet, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.turned) >= l.cfg.Keep/2 {
		l.turned = now
		for key, b := range l.fields {
			l.changed = l.changed || b.before > b.now
			if b = (bound{before: b.now}); b.before == 0 {
				delete(l.fields, key)
				continue
			}
			l.fields[key] = b
		}
	}
	if !l.changed && !(l.again && now.Sub(l.told) >= retell*l.cfg.Interval) {
		return nil, false
	}
	l.changed, l.again, l.told = false, false, now
	set := guard.HintSet{}
	for key, b := range l.fields {
		h, ok := set[key.index]
		if !ok {
			h.Fields = map[string]cost.FieldHint{}
			set[key.index] = h
		}
		h.Fields[key.field] = cost.FieldHint{Cardinality: max(b.now, b.before)}
	}
	return set, true
}

// Fits are at most n shapes: those first that took longest for what was
// predicted of them.
func (l *Learner) Fits(n int) []Fit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shapes.fits(time.Now(), n)
}
