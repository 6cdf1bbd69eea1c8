package main

import (
	"context"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
)

// One row on real processes: both workers die of what should kill them, and only
// of that, and the rig, the workers and Bezoar agree on how many died.
func TestAPillKillsWorkersOfBothLanguages(t *testing.T) {
	langs := []string{"go"}
	if _, err := exec.LookPath("python3"); err == nil {
		langs = append(langs, "python")
	} else {
		t.Log("not tried with Python:", err)
	}
	bench, err := peer.New(peer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // the build may be the first
	defer cancel()
	bin, err := bench.Binary(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range langs {
		cfg := Config{
			Rows: []string{"demo-crash"}, Length: 2 * time.Second, Workers: 2, Lang: lang, Callers: byHeader, Rate: 20, Runs: 1,
			Bezoar: bin,
		}
		report, err := Measure(ctx, cfg, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		r := report.Rows[0].Worst
		if r.Lost == 0 || r.Lost != r.LostByPill || r.Lost != r.LostByAPI || r.Pills != 4 {
			t.Errorf("%s: %d workers lost, %d by pills, %d as Bezoar says, %d pills", lang, r.Lost, r.LostByPill, r.LostByAPI, r.Pills)
		}
		if r.Sent != 40 || r.OK+r.Cut != r.Sent {
			t.Errorf("%s: %d of %d innocents answered, %d cut; refused %v, failed %v", lang, r.OK, r.Sent, r.Cut, r.Refused, r.Failed)
		}
		if r.Evidence.Convicts != 1 || len(r.Evidence.Wrong) > 0 {
			t.Errorf("%s: evidence %+v, want one right conviction", lang, r.Evidence)
		}
	}
}
