package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// Config says what to measure.
type Config struct {
	Subjects []Subject
	Rounds   int   // of which the median counts; 1 to 100
	Messages int   // of one measurement; 10 to 1,000,000
	Backlog  int   // of a second measurement of each endpoint, so many waiting at once; 0 leaves that out
	Workers  []int // each 1 to 64
	Waiting  int   // messages in the deep queue; 0 leaves that out, at most 10,000,000
	Letters  int   // dead letters beside them; 1 to 10,000,000
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs []error
	within := func(name string, n, low, high int) {
		if n < low || n > high {
			errs = append(errs, fmt.Errorf("%s: %d, want %d to %d", name, n, low, high))
		}
	}
	within("rounds", c.Rounds, 1, 100)
	within("messages", c.Messages, 10, 1_000_000)
	within("backlog", c.Backlog, 0, 1_000_000)
	within("waiting", c.Waiting, 0, 10_000_000)
	within("letters", c.Letters, 1, 10_000_000)
	for _, w := range c.Workers {
		within("workers", w, 1, 64)
	}
	if len(c.Workers) == 0 {
		errs = append(errs, errors.New("workers: want at least one"))
	}
	return errors.Join(errs...)
}

// sample is one measurement, in messages per second.
type sample struct{ send, drain, total float64 }

// samples are those of one subject under one load, a round each.
type samples struct {
	subject  Subject
	workers  int
	messages int
	rounds   []sample
}

// plan is what one round measures, in this order.
func (c Config) plan() (all []*samples) {
	for _, w := range c.Workers {
		for i, messages := range []int{c.Messages, c.Backlog} {
			for _, s := range c.Subjects {
				if i == 0 || messages > 0 && s.endpoint {
					all = append(all, &samples{subject: s, workers: w, messages: messages})
				}
			}
		}
	}
	return all
}

// measure has the subjects take turns, so that what disturbs the machine
// disturbs all of them. absent says why some have no samples.
func measure(ctx context.Context, c Config, e *Env, progress io.Writer) (all []*samples, absent map[string]string, err error) {
	all = c.plan()
	absent = make(map[string]string)
	for round := range c.Rounds {
		for _, s := range all {
			if absent[s.subject.Name] != "" {
				continue
			}
			got, err := once(ctx, e, s.subject, Load{Messages: s.messages, Workers: s.workers})
			if errors.Is(err, ErrAbsent) {
				absent[s.subject.Name] = err.Error()
				fmt.Fprintf(progress, "%s: %v\n", s.subject.Name, err)
				continue
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s, %d workers: %w", s.subject.Name, s.workers, err)
			}
			s.rounds = append(s.rounds, got)
			fmt.Fprintf(progress, "round %d of %d, %2d workers, %-20s %7.0f sent/s %7.0f done/s\n",
				round+1, c.Rounds, s.workers, s.subject.Name, got.send, got.drain)
		}
	}
	return slices.DeleteFunc(all, func(s *samples) bool { return len(s.rounds) == 0 }), absent, nil
}

// tooLong ends a measurement that makes no progress.
const tooLong = 5 * time.Minute

func once(ctx context.Context, e *Env, s Subject, l Load) (_ sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, tooLong)
	defer cancel()
	q, err := s.open(ctx, e)
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	runtime.GC() // of what the one before left
	began := time.Now()
	if err := q.Send(ctx, l); err != nil {
		return sample{}, fmt.Errorf("send: %w", err)
	}
	sent := time.Now()
	if err := q.Drain(ctx, l); err != nil {
		return sample{}, fmt.Errorf("drain: %w", err)
	}
	done := time.Now()
	n := float64(l.Messages)
	return sample{
		send: n / sent.Sub(began).Seconds(), drain: n / done.Sub(sent).Seconds(), total: n / done.Sub(began).Seconds(),
	}, nil
}
