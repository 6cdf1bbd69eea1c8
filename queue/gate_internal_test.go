package queue

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// oneMark is a store that holds one mark and nothing else.
type oneMark struct {
	Store
	mu   sync.Mutex // guards mark
	mark Mark
}

func (*oneMark) Shared() bool { return true }

func (o *oneMark) PutMark(_ context.Context, m Mark) (Mark, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m.Version != o.mark.Version {
		return o.mark, ErrConflict
	}
	m.Version++
	o.mark = m
	return m, nil
}

func (o *oneMark) put(t *testing.T, key string, doc any) Mark {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	m, err := o.PutMark(t.Context(), Mark{Key: key, Version: o.mark.Version, Doc: text})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// crowd makes a lock so busy that who wants it twice does not get it twice in a
// row: a mutex for which somebody has waited for a millisecond is handed over in turn.
func crowd(mu *sync.Mutex) (end func()) {
	var over atomic.Bool
	var wg sync.WaitGroup
	begun := make(chan struct{}, 2)
	for range 2 {
		wg.Go(func() {
			for first := true; !over.Load(); first = false {
				mu.Lock()
				if first {
					begun <- struct{}{}
				}
				for began := time.Now(); time.Since(began) < 1500*time.Microsecond; {
					runtime.Gosched()
				}
				mu.Unlock()
			}
		})
	}
	<-begun
	<-begun
	return func() { over.Store(true); wg.Wait() }
}

// What others have claimed is theirs, also when this process hears of it at the
// very moment at which it claims the same.
func TestAClaimIsOneStep(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		key         string
		due, theirs any
		claim       func(e *Engine, t *trial) bool
	}{
		"probe": {
			key: breakerMarks + "g",
			due: breaker.Snapshot{Generation: 1, State: breaker.Open, Until: now.Add(-time.Second), Level: 1},
			theirs: breaker.Snapshot{
				Generation: 2, State: breaker.HalfOpen, Until: now.Add(time.Minute), Level: 1, Node: "b",
			},
			claim: func(e *Engine, t *trial) bool {
				_, ok := e.probe(context.Background(), e.conditions.groups["g"], t, time.Minute)
				return ok
			},
		},
		"canary": {
			key:    outageMarks + "q",
			due:    outage.Snapshot{Generation: 1, State: outage.Paused, Until: now.Add(-time.Second), Level: 1},
			theirs: outage.Snapshot{Generation: 2, State: outage.Trying, Until: now.Add(time.Minute), Level: 1},
			claim: func(e *Engine, t *trial) bool {
				_, ok := e.canary(context.Background(), e.conditions.queues["q"], t, time.Minute)
				return ok
			},
		},
	} {
		twice := 0
		for round := range 11 {
			store := &oneMark{}
			e, err := New(Config{Breaker: breaker.Config{Node: "a"}}, store)
			if err != nil {
				t.Fatal(err)
			}
			e.learn(t.Context(), now, []Mark{store.put(t, c.key, c.due)})
			if round == 0 {
				if !c.claim(e, &trial{}) {
					t.Fatalf("%s: nobody has it, and it is not given", name)
				}
				continue
			}
			theirs := store.put(t, c.key, c.theirs)
			queueUp := crowd(&e.conditions.mu)
			var wg sync.WaitGroup
			got := false
			// Who is started last runs first.
			wg.Go(func() { e.learn(context.Background(), now, []Mark{theirs}) })
			wg.Go(func() { got = c.claim(e, &trial{}) })
			wg.Wait()
			queueUp()
			if got {
				twice++
			}
		}
		if twice > 0 {
			t.Errorf("%s: claimed by two, %d times", name, twice)
		}
	}
}
