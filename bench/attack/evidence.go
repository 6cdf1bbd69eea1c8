package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// verdict is what is read of Bezoar's verdicts.
type verdict struct {
	ID, Scope, State, Reason, Sample string
	Refused                          int
	Evidence                         []struct {
		Worker string
		Epoch  uint64
	}
}

// refuses reports whether the verdict refuses work.
func (v *verdict) refuses() bool { return v.State == "quarantined" || v.State == "probing" }

// letter is what is read of Bezoar's dead letters.
type letter struct {
	Verdict string
	Request struct {
		Method, Target string
		Header         map[string][]string
	}
}

// A file collects the verdicts of one run.
type file struct {
	mu   sync.Mutex // guards seen
	seen map[string]verdict
}

const (
	lookEvery  = 2 * time.Second
	pageSize   = 1000 // dead letters at once, as many as the API gives
	maxLetters = 10_000
	maxChecks  = 20 // convicts of which an innocent's copy is sent at the end
)

func newFile() *file { return &file{seen: map[string]verdict{}} }

// look adds what is in quarantine now. Bezoar may be away.
func (f *file) look(ctx context.Context, g *gate) error {
	var list struct{ Verdicts []verdict }
	if err := g.ask(ctx, "/api/v1/quarantine", &list); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range list.Verdicts {
		if old := f.seen[v.ID]; v.refuses() || !old.refuses() { // who was convicted once counts
			f.seen[v.ID] = v
		}
	}
	return nil
}

// watch looks until ctx ends.
func (f *file) watch(ctx context.Context, g *gate) {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			_ = f.look(ctx, g) // it may be away; the last look counts
		case <-ctx.Done():
			return
		}
	}
}

// Findings is who was convicted, and whether rightly.
type Findings struct {
	Convicts int      `json:"convicts"`
	Suspects int      `json:"suspects"` // at the end, and what else is held without refusing
	Wrong    []string `json:"wrong"`    // convicts: their sample, and why
	// Deaths is how many epochs stand in the evidence of all verdicts.
	Deaths int `json:"deaths_in_evidence"`
}

// findings judges every convict. copies asks for an innocent's copy of a request
// and returns how it fared.
func (f *file) findings(ctx context.Context, g *gate, t *tally, send func(*shot) ending) (*Findings, error) {
	if err := f.look(ctx, g); err != nil {
		return nil, err
	}
	whose, err := senders(ctx, g, t)
	if err != nil {
		return nil, err
	}
	out := &Findings{Wrong: []string{}}
	deaths := map[string]bool{}
	checks := 0
	for _, id := range slices.Sorted(maps.Keys(f.seen)) {
		v := f.seen[id]
		for _, e := range v.Evidence {
			deaths[fmt.Sprint(e.Worker, "/", e.Epoch)] = true
		}
		if !v.refuses() {
			out.Suspects++
			continue
		}
		out.Convicts++
		why := t.accuse(&v, whose[id])
		if l := t.lines[v.Sample]; why == "" && checks < maxChecks && l.copy != nil && strings.HasPrefix(v.Sample, "GET ") {
			checks++
			if how := send(l.copy); how.refused() && how.verdict != "" {
				why = "an innocent's copy is refused"
			}
		}
		if why != "" {
			out.Wrong = append(out.Wrong, fmt.Sprintf("%s %s (%s): %s", v.Scope, v.Sample, id, why))
		}
	}
	out.Deaths = len(deaths)
	return out, nil
}

// accuse says what is wrong with a conviction, "" for nothing.
func (t *tally) accuse(v *verdict, sender origin) string {
	if n := t.byWhich[v.ID]; n > 0 {
		return fmt.Sprintf("%d innocents refused", n)
	}
	if sender == unknown {
		switch l := t.lines[v.Sample]; {
		case l.attacker:
			sender = attacker
		case l.innocent:
			sender = innocent
		}
	}
	switch {
	case sender == attacker:
		return ""
	case sender == innocent:
		return "an innocent's request"
	case v.Scope == "shape": // innocents ask for the same in every row
		return "a whole shape"
	case v.Scope == "work":
		return "nobody sent this"
	}
	return "" // a caller or a feature: wrong when innocents are refused
}

// senders reads from the dead letters whose request stands behind each verdict.
func senders(ctx context.Context, g *gate, t *tally) (map[string]origin, error) {
	out := map[string]origin{}
	for offset := 0; offset < maxLetters; offset += pageSize {
		var page struct{ Letters []letter }
		if err := g.ask(ctx, fmt.Sprintf("/api/v1/letters?limit=%d&offset=%d", pageSize, offset), &page); err != nil {
			return nil, err
		}
		for _, l := range page.Letters {
			for _, id := range l.Request.Header["X-Request-Id"] {
				if who := t.ids[id]; who != unknown && out[l.Verdict] != innocent {
					out[l.Verdict] = who
				}
			}
		}
		if len(page.Letters) < pageSize {
			break
		}
	}
	return out, nil
}
