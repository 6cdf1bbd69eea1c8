package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

const (
	letterGroups  = 50
	letterQueue   = "broken"
	letterWorkers = 64 // that set aside at once: each letter is a call of its own
	groupsAsked   = 20
	groupsAtMost  = 100 * time.Millisecond
)

// Letters is what it takes to group the dead letters of the deep queue's store.
type Letters struct {
	Letters  int     `json:"letters"`
	Groups   int     `json:"groups"`
	Filled   string  `json:"filled_in"`
	Median   float64 `json:"median_ms"`
	Max      float64 `json:"max_ms"`
	Required float64 `json:"at_most_ms"` // of the median
	Holds    bool    `json:"holds"`
}

// setAside makes so many dead letters, each as a worker does that cannot use
// what it received.
func (e *engine) setAside(ctx context.Context, letters int) error {
	if _, err := e.CreateQueue(ctx, letterQueue, queue.DefaultSettings(), nil); err != nil {
		return err
	}
	var dead atomic.Int64
	return share(ctx, Load{Messages: letters, Workers: letterWorkers}, batch, func(ctx context.Context, n int) error {
		if err := e.sendTo(ctx, letterQueue, n); err != nil {
			return err
		}
		for n > 0 {
			m, err := e.Receive(ctx, letterQueue, queue.ReceiveInput{Max: n, Wait: new(time.Second)})
			if err != nil {
				return err
			}
			for _, one := range m {
				err := e.Reject(ctx, letterQueue, one.Receipt, queue.Outcome{
					Class: bezoar.Invalid, Failure: fmt.Sprintf("failure-%02d", dead.Add(1)%letterGroups), Reason: "no such customer",
				})
				if err != nil {
					return err
				}
			}
			n -= len(m)
		}
		return nil
	})
}

// group asks for the groups several times.
func (e *engine) group(ctx context.Context, letters int) (Letters, error) {
	svc, err := triage.New(triage.Config{Queue: e.Engine})
	if err != nil {
		return Letters{}, err
	}
	l := Letters{Letters: letters, Required: float64(groupsAtMost.Milliseconds())}
	var took []time.Duration
	for range groupsAsked {
		began := time.Now()
		groups, err := svc.Groups(ctx, queue.Selection{Queue: queue.ImplicitName(letterQueue)}, triage.MaxGroups)
		took = append(took, time.Since(began))
		if err != nil {
			return l, err
		}
		l.Groups = len(groups)
	}
	if want := min(letters, letterGroups); l.Groups != want {
		return l, fmt.Errorf("%d letters are in %d groups, want %d", letters, l.Groups, want)
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	l.Median, l.Max = ms(took[len(took)/2]), ms(took[len(took)-1])
	l.Holds = l.Median <= l.Required
	return l, nil
}
