package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

const (
	underLoad = 300 * time.Millisecond // from the first answer of a Bezoar to its death
	maxKills  = 50
	restartAt = 2 * time.Second // after the begin of the row
)

// operationRows are no attacks: what happens to Bezoar and to builds. Nobody may
// be blamed.
func operationRows() []row {
	return []row{
		{
			name: "kill9", what: fmt.Sprintf("kill -9 of Bezoar itself under load, up to %d times, started again at once with the same state", maxKills),
			bound: bound{text: "nobody quarantined or refused", deaths: noBound},
			also: func(w *world) []stream {
				return []stream{{rate: 5, make: func(n int, r *rand.Rand) shot {
					return get(w.innocent(r), "target", "/report?id=%d&ms=1000", n%5)
				}}}
			},
			script: killBezoar,
			faults: func(s *scene, r *Run, _ balance) []string {
				var out []string
				if s.kills == 0 {
					out = append(out, "Bezoar was never killed")
				}
				if n := s.tally.convicted(); n > 0 {
					out = append(out, fmt.Sprintf("%d innocents refused by a verdict", n))
				}
				return out
			},
		},
		{
			name: "rolling", what: "a rolling restart to a build that is healthy and dies of every request",
			bound:  bound{text: "stops after the first", deaths: noBound},
			script: restartBadly,
			faults: func(s *scene, _ *Run, b balance) []string {
				if left := b.alive["good"]; left < s.cfg.Workers-1 {
					return []string{fmt.Sprintf("%d of %d workers of the old build left", left, s.cfg.Workers)}
				}
				return nil
			},
		},
	}
}

// convicted counts the innocents that were refused by a verdict.
func (t *tally) convicted() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, k := range t.byWhich {
		n += k
	}
	return n
}

// killBezoar kills Bezoar and starts it again, until the row ends.
func killBezoar(ctx context.Context, s *scene, g *gate) error {
	for s.kills < maxKills {
		pause := underLoad + rand.N(underLoad)
		if time.Now().Add(pause).After(s.end) {
			break
		}
		select {
		case <-time.After(max(pause, time.Until(s.begin))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		g.child.Kill()
		s.kills++
		if err := g.launch(ctx); err != nil {
			return fmt.Errorf("after kill %d: %w", s.kills, err)
		}
	}
	return g.until(ctx, func() bool {
		f, err := g.fleet(ctx)
		return err == nil && f.ready() == s.cfg.Workers
	})
}

// restartBadly makes the build bad and asks for a rolling restart.
func restartBadly(ctx context.Context, s *scene, g *gate) error {
	select {
	case <-time.After(time.Until(s.begin.Add(restartAt))):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := os.WriteFile(g.build, []byte("bad"), 0o600); err != nil {
		return err
	}
	return g.command(ctx, "fleet", "restart", "app")
}
