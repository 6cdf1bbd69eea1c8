package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// fillLetters makes n letters in so many groups.
func fillLetters(b *testing.B, s queue.Store, n, groups int) {
	b.Helper()
	q, err := s.CreateQueue(b.Context(), queue.Queue{Name: "jobs", Settings: queue.DefaultSettings()})
	if err != nil {
		b.Fatal(err)
	}
	p := queue.Policy{DeadLetter: queue.ImplicitName("jobs"), Implicit: true, Poison: poison.Config{Off: true}}
	in := queue.SendInput{Body: make([]byte, 1000), Attributes: map[string]queue.Attribute{"tenant": {DataType: "String", String: "acme"}}}
	copy(in.Body[900:], "order 17")
	for i := 0; i < n; {
		var batch []queue.Entry
		for range queue.MaxBatch {
			batch = append(batch, queue.Entry{SendInput: in, ID: fmt.Sprint("m", len(batch)+i)})
		}
		if _, err := s.Send(b.Context(), q.ID, batch); err != nil {
			b.Fatal(err)
		}
		c, err := s.Receive(b.Context(), q.ID, queue.Claim{Policy: p, Max: queue.MaxBatch, Visibility: time.Minute, Retention: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		var changes []queue.Change
		for _, m := range c.Messages {
			changes = append(changes, queue.Change{Receipt: m.Receipt, Release: true, Dead: true, Outcome: &queue.Outcome{
				Class: bezoar.Bug, Failure: fmt.Sprint("f", i%groups), Reason: "a reason of some length, as they are",
			}})
			i++
		}
		if _, err := s.Change(b.Context(), q.ID, p, changes); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTriage measures what triage asks of 100,000 letters in 50 groups.
func BenchmarkTriage(b *testing.B) {
	s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "bezoar.db")}).Queue()
	fillLetters(b, s, 100_000, 50)
	ctx, dead := b.Context(), queue.ImplicitName("jobs")
	for name, ask := range map[string]func() (int, error){
		"groups": func() (int, error) {
			g, err := s.Groups(ctx, queue.Selection{Queue: dead}, 100)
			return len(g), err
		},
		"groups-of-a-class": func() (int, error) {
			g, err := s.Groups(ctx, queue.Selection{Class: "bug"}, 100)
			return len(g), err
		},
		"count-a-group": func() (int, error) {
			n, _, err := s.CountLetters(ctx, queue.Selection{Queue: dead, Groups: []string{"bug:f7"}})
			return int(n / 100), err
		},
		"count-by-body": func() (int, error) {
			n, _, err := s.CountLetters(ctx, queue.Selection{Queue: dead, Body: "order 17"})
			return int(n), err
		},
		"count-by-attribute": func() (int, error) {
			n, _, err := s.CountLetters(ctx, queue.Selection{Queue: dead, Attributes: map[string]string{"tenant": "acme"}})
			return int(n), err
		},
		"count-by-reason": func() (int, error) {
			n, _, err := s.CountLetters(ctx, queue.Selection{Queue: dead, Reason: "some length"})
			return int(n), err
		},
		"page": func() (int, error) {
			l, err := s.Letters(ctx, queue.Selection{Queue: dead}, 0, 50)
			return len(l), err
		},
		"page-of-a-group": func() (int, error) {
			l, err := s.Letters(ctx, queue.Selection{Queue: dead, Groups: []string{"bug:f7"}}, 0, 50)
			return len(l), err
		},
		"last-page-of-a-group": func() (int, error) {
			l, err := s.Letters(ctx, queue.Selection{Queue: dead, Groups: []string{"bug:f7"}}, 2000, 50)
			return len(l), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := ask(); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// BenchmarkCounts measures the counts of a million messages.
func BenchmarkCounts(b *testing.B) {
	for _, delay := range []time.Duration{0, time.Hour} {
		b.Run(fmt.Sprint("delay=", delay), func(b *testing.B) {
			s := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "bezoar.db")}).Queue()
			q, err := s.CreateQueue(b.Context(), queue.Queue{Name: "jobs", Settings: queue.DefaultSettings()})
			if err != nil {
				b.Fatal(err)
			}
			const all = 1_000_000
			for i := range all / 1000 {
				batch := make([]queue.Entry, 1000)
				for n := range batch {
					batch[n] = queue.Entry{SendInput: queue.SendInput{Body: []byte("body")}, ID: fmt.Sprint("m", i, "-", n), Delay: delay}
				}
				if _, err := s.Send(b.Context(), q.ID, batch); err != nil {
					b.Fatal(err)
				}
			}
			_, err = s.Receive(b.Context(), q.ID, queue.Claim{Max: 200, Visibility: time.Hour, Retention: time.Hour})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				c, err := s.Counts(b.Context(), q.ID)
				if err != nil || c.Visible+c.InFlight+c.Delayed != all {
					b.Fatal(c, err)
				}
			}
		})
	}
}
