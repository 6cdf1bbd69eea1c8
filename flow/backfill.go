package flow

import (
	"context"
	"errors"
	"time"
)

// Backfill runs a flow for due times of the past.
type Backfill struct {
	ID         string // default: of flow, range and parameters; the same backfill again goes on where it was
	Definition Definition
	Params     map[string]string
	From, To   time.Time     // due times from From to before To, by Definition.Schedule
	Every      time.Duration // instead of a schedule
	Parallel   int           // runs at once; default 4
	Share      int           // runs that fail with one fingerprint before the backfill halts; default 3
	NoCanary   bool          // do not wait for the first run alone
}

// BackfillPlan is the arithmetic of a backfill.
type BackfillPlan struct {
	ID       string        `json:"id"`
	Runs     int           `json:"runs"`     // due times
	There    int           `json:"there"`    // that have a run already
	Tasks    int           `json:"tasks"`    // of one run, before Each
	Run      time.Duration `json:"run"`      // p95 along the longest path, of earlier runs; 0: unknown
	Time     time.Duration `json:"time"`     // Run × runs ÷ parallel; 0: unknown
	Retries  time.Duration `json:"retries"`  // the longest that all waits of retries along one path can take
	Deadline time.Duration `json:"deadline"` // of one run; 0: none
	Fits     bool          `json:"fits"`     // Run + Retries is within Deadline
	First    time.Time     `json:"first"`
	Last     time.Time     `json:"last"`
	Text     string        `json:"text"` // the arithmetic for people
}

// BackfillStatus is where a backfill stands.
type BackfillStatus struct {
	ID      string `json:"id"`
	Runs    int    `json:"runs"`
	Done    int    `json:"done"`
	Failed  int    `json:"failed"` // FAILED, CANCELLED or HELD
	Running int    `json:"running"`
	Halted  bool   `json:"halted,omitempty"`
	Why     string `json:"why,omitempty"`
}

// PlanBackfill computes what a backfill would do, and starts nothing.
func (e *Engine) PlanBackfill(ctx context.Context, b Backfill) (BackfillPlan, error) {
	return BackfillPlan{}, errors.ErrUnsupported
}

// Backfill starts the runs of a backfill and waits for them. It returns when all
// are over or wait for a person, when it halts, or when ctx is over. progress,
// if not nil, is called after each change. The same backfill again goes on where
// it was.
func (e *Engine) Backfill(ctx context.Context, b Backfill, progress func(BackfillStatus)) (BackfillStatus, error) {
	return BackfillStatus{}, errors.ErrUnsupported
}
