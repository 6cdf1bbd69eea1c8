package judge

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/marks"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

type nothing = interface {
	Marks(context.Context, string) ([]marks.Mark, error)
	DeleteMark(context.Context, string, int64) error
}

// oneMark is a store that holds one mark and nothing else.
type oneMark struct {
	nothing
	mu   sync.Mutex // guards mark
	mark marks.Mark
}

func (o *oneMark) PutMark(_ context.Context, m marks.Mark) (marks.Mark, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m.Version != o.mark.Version {
		return o.mark, marks.ErrConflict
	}
	m.Version++
	o.mark = m
	return m, nil
}

func (o *oneMark) put(t *testing.T, key string, doc any) marks.Mark {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	m, err := o.PutMark(t.Context(), marks.Mark{Key: key, Version: o.mark.Version, Doc: text})
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
		claim       func(j *Judge, t *Trial) bool
	}{
		"probe": {
			key: breakerMarks + "g",
			due: breaker.Snapshot{Generation: 1, State: breaker.Open, Until: now.Add(-time.Second), Level: 1},
			theirs: breaker.Snapshot{
				Generation: 2, State: breaker.HalfOpen, Until: now.Add(time.Minute), Level: 1, Node: "b",
			},
			claim: func(j *Judge, t *Trial) bool {
				return j.probe(context.Background(), time.Now(), j.groups["g"], t, time.Minute).Open
			},
		},
		"canary": {
			key:    outageMarks + "q",
			due:    outage.Snapshot{Generation: 1, State: outage.Paused, Until: now.Add(-time.Second), Level: 1},
			theirs: outage.Snapshot{Generation: 2, State: outage.Trying, Until: now.Add(time.Minute), Level: 1},
			claim: func(j *Judge, t *Trial) bool {
				return j.canary(context.Background(), time.Now(), j.queues["q"], t, time.Minute).Open
			},
		},
	} {
		twice := 0
		for round := range 11 {
			store := &oneMark{}
			j := New(Config{Store: store, Shared: true, Breaker: breaker.Config{Node: "a"}})
			j.learn(t.Context(), now, []marks.Mark{store.put(t, c.key, c.due)})
			if round == 0 {
				if !c.claim(j, &Trial{}) {
					t.Fatalf("%s: nobody has it, and it is not given", name)
				}
				continue
			}
			theirs := store.put(t, c.key, c.theirs)
			queueUp := crowd(&j.mu)
			var wg sync.WaitGroup
			got := false
			// Who is started last runs first.
			wg.Go(func() { j.learn(context.Background(), now, []marks.Mark{theirs}) })
			wg.Go(func() { got = c.claim(j, &Trial{}) })
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
