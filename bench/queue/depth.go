package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// How often the two queues take turns.
const (
	depthTurns  = 20
	depthCycles = 100 // in each
)

// Depth compares receives from a queue in which many messages wait with those
// from an empty one.
type Depth struct {
	Subject  string  `json:"subject"`
	Waiting  int     `json:"waiting"`
	Filled   string  `json:"filled_in"`
	Empty    Latency `json:"empty"`
	Deep     Latency `json:"deep"`
	Ratio    float64 `json:"ratio"` // of the p99
	Required float64 `json:"at_most"`
	Holds    bool    `json:"holds"`
	Letters  Letters `json:"letters"`
}

// Latency is that of receives of ten messages.
type Latency struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

const depthAtMost = 2

// fillers are how many callers fill a queue at once, each with whole batches of
// the engine.
const fillers = 8

// measureDepth is for a subject that is an engine. It does so many cycles with
// either queue in each turn.
func measureDepth(ctx context.Context, e *Env, s Subject, waiting, letters, cycles int, progress io.Writer) (_ Depth, err error) {
	var engines [2]*engine
	for i := range engines {
		q, err := s.open(ctx, e)
		if err != nil {
			return Depth{}, err
		}
		defer func() { err = errors.Join(err, q.Close()) }()
		engines[i] = q.(*engine)
	}
	began := time.Now()
	fmt.Fprintf(progress, "%s: filling a queue with %d messages\n", s.Name, waiting)
	err = share(ctx, Load{Messages: waiting, Workers: fillers}, queue.MaxBatch, func(ctx context.Context, n int) error {
		return engines[1].sendBatch(ctx, n)
	})
	if err != nil {
		return Depth{}, fmt.Errorf("%s: fill: %w", s.Name, err)
	}
	filled := time.Since(began)
	fmt.Fprintf(progress, "%s: setting %d messages aside\n", s.Name, letters)
	if err := engines[1].setAside(ctx, letters); err != nil {
		return Depth{}, fmt.Errorf("%s: set messages aside: %w", s.Name, err)
	}
	aside := time.Since(began) - filled
	d := Depth{Subject: s.Name, Waiting: waiting, Filled: filled.Round(time.Second / 10).String(), Required: depthAtMost}
	var took [2][]time.Duration
	for range depthTurns {
		for i, e := range engines {
			for range cycles {
				t, err := e.cycle(ctx)
				if err != nil {
					return Depth{}, err
				}
				took[i] = append(took[i], t)
			}
		}
	}
	d.Empty, d.Deep = latency(took[0]), latency(took[1])
	d.Ratio = d.Deep.P99 / d.Empty.P99
	d.Holds = d.Ratio <= d.Required
	d.Letters, err = engines[1].group(ctx, letters)
	d.Letters.Filled = aside.Round(time.Second / 10).String()
	return d, err
}

// cycle sends ten, receives ten and deletes them, and says how long the receive
// took.
func (e *engine) cycle(ctx context.Context) (time.Duration, error) {
	if err := e.sendBatch(ctx, batch); err != nil {
		return 0, err
	}
	began := time.Now()
	m, err := e.Receive(ctx, engineQueue, queue.ReceiveInput{Max: batch})
	took := time.Since(began)
	if err == nil && len(m) != batch {
		err = fmt.Errorf("received %d of %d", len(m), batch)
	}
	return took, errors.Join(err, e.delete(ctx, m))
}

func latency(took []time.Duration) Latency {
	slices.Sort(took)
	at := func(i int) float64 { return float64(took[i].Microseconds()) / 1000 }
	return Latency{P50: at(len(took) / 2), P99: at(len(took) * 99 / 100), Max: at(len(took) - 1)}
}
