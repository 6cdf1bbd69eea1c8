package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// openRun reads how the last run ended, and begins the record of this run.
func (a *App) openRun() {
	a.run, a.last = lastrun.Open(lastrun.Config{
		Dir: a.cfg.StateDir, Secrets: a.secrets(), NoCrashOutput: !a.opt.Alone,
	})
}

// secrets returns values that a panic may print and nobody may read.
func (a *App) secrets() []string {
	var out []string
	if token, err := a.cfg.AdminToken(); err == nil {
		out = append(out, token)
	}
	for _, k := range a.cfg.AccessKeys {
		out = append(out, k.Secret)
	}
	for _, name := range slices.Concat(a.opt.Secrets, a.cfg.SecretVariables()) {
		out = append(out, os.Getenv(name))
	}
	return out
}

// load restores what the fleets knew, and judges the requests that were in flight when the last run died.
func (a *App) load(ctx context.Context, units []*unit) error {
	runs, total := a.lastRuns(units)
	a.tellLast(total)
	for i, u := range units {
		if err := u.ledger.Load(ctx, runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// lastRuns returns the last run for each fleet, and the number of requests that were in flight in all of them.
func (a *App) lastRuns(units []*unit) (runs []*ledger.LastRun, total int) {
	death := blame.SelfDeath{Proof: a.proof(), Line: a.last.Line, Trace: a.last.Trace}
	for _, u := range units {
		run := &ledger.LastRun{Death: death}
		if u.wrote == a.last.ID && a.last.ID != 0 { // the journal may be of an earlier run
			run.Flight = u.flight
			total += distinct(u.flight)
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		run.Death.Elsewhere = total - distinct(run.Flight)
	}
	return runs, total
}

func distinct(flight []ledger.Record) int {
	seen := map[bezoar.Fingerprint]bool{}
	for _, r := range flight {
		seen[r.Fingerprint] = true
	}
	return len(seen)
}

// proof returns what the end of the last run proves against the requests in flight.
func (a *App) proof() blame.Proof {
	switch {
	case a.last.How == lastrun.OutOfMemory:
		return blame.OutOfMemory
	case a.last.How == lastrun.Panicked && !overOther(a.last.Calls):
		return blame.Panicked
	}
	return blame.NoProof
}

// These functions are on the stack of a goroutine that panicked.
const (
	delivers = "github.com/bezoar-dev/bezoar/internal/dispatch.(*call).attempt"     // is sending what is in flight
	serves   = "github.com/bezoar-dev/bezoar/internal/gateway/h1.(*Exchange).serve" // serves a request over HTTP/1.1
	answers  = "net/http.(*conn).serve"                                             // the same in net/http
	answers2 = "erverConn).runHandler"                                              // the same over HTTP/2
)

// overOther reports whether the cause of a panic was a request that was not in flight: one that was being read or refused,
// or an operator's.
func overOther(calls []string) bool {
	return !slices.Contains(calls, delivers) && slices.ContainsFunc(calls, func(f string) bool {
		return f == serves || f == answers || strings.HasSuffix(f, answers2)
	})
}

// tellLast logs how the last run ended, and the consequences.
func (a *App) tellLast(inFlight int) {
	last, level := &a.last, slog.LevelWarn
	args := []any{"how", last.How.String()}
	if !last.Began.IsZero() {
		args = append(args, "pid", last.PID, "began", last.Began)
	}
	if last.Line != "" {
		args = append(args, "crash", last.Line)
	}
	if last.Kills > 0 {
		args = append(args, "oom_kills", last.Kills)
	}
	if last.Note != "" {
		args = append(args, "note", last.Note)
	}
	if last.How != lastrun.Orderly && last.How != lastrun.First {
		args = append(args, "in_flight", inFlight, "concluded", concluded(last, inFlight, a.proof()))
	} else if last.Note == "" {
		level = slog.LevelInfo
	}
	if last.How == lastrun.First && last.Note == "" {
		return
	}
	a.log.Log(context.Background(), level, "the last run ended", args...)
}

// concluded describes what the end of the last run means for requests in flight.
func concluded(last *lastrun.Report, inFlight int, proof blame.Proof) string {
	switch {
	case proof == blame.NoProof && last.How == lastrun.Panicked:
		return "no request is blamed: the panic came from a request that was not in flight yet"
	case proof == blame.NoProof:
		return "no request is blamed: there is no evidence that a request ended it"
	case inFlight == 0:
		return "no request is blamed: nothing was in flight"
	case proof == blame.OutOfMemory:
		return "requests that were in flight and have never succeeded run alone; a request that alone was in flight at two such ends is quarantined"
	case inFlight == 1:
		return "the request that was alone in flight is quarantined, unless it has succeeded before"
	}
	return fmt.Sprintf("no request is convicted: %d were in flight; those that have never succeeded run alone", inFlight)
}
