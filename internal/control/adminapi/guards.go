package adminapi

import (
	"context"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard"
)

// PathGuards is the path of the guards' statistics: GET ?limit=, answered by [Guards].
const PathGuards = "/api/v1/guards"

// MaxGuardRows is the maximum number of callers, and of shapes, listed per guard.
// DefaultGuardRows is the default.
const (
	MaxGuardRows     = 200
	DefaultGuardRows = 20
)

// Guard is the state of one route's guard. Callers have the names that they give
// themselves, or else the names of [Top].
type Guard struct {
	Route      string               `json:"route"`
	Fleet      string               `json:"fleet"`
	Kind       guard.Kind           `json:"kind"`
	Version    int64                `json:"version"` // version of the limits in this process
	ReportOnly bool                 `json:"report_only"`
	Dial       float64              `json:"dial"`             // factor by which operators multiply the limits
	Load       float64              `json:"load"`             // pressure on the fleet, 0 to 1
	Limits     string               `json:"limits,omitempty"` // file of the limits; empty: the settings, or the default limits
	HintsAge   Duration             `json:"hints_age"`        // age of the oldest hints; 0: no hints
	Hints      []guard.HintSource   `json:"hints,omitempty"`
	HintsFile  string               `json:"hints_file,omitempty"`
	Poll       *GuardPoll           `json:"poll,omitempty"`
	Record     *GuardRecord         `json:"record,omitempty"`
	Faults     []GuardFault         `json:"faults,omitempty"` // faults of the guard's files; the last valid content stays in force
	Total      guard.Tally          `json:"total"`
	Minutes    []float64            `json:"minutes"`  // units in each of the last 60 minutes; the current minute is last
	Findings   []guard.FindingTally `json:"findings"` // findings by predictor and action
	Classes    []guard.NamedTally   `json:"classes"`  // counts by class of the limits; empty name: callers without a class
	Named      []guard.NamedTally   `json:"named"`    // callers that metrics name; (others) stands for all other callers
	Judging    guard.Judging        `json:"judging"`
	Slow       int64                `json:"slow"`       // queries that were slow, or killed a worker
	Suppressed int64                `json:"suppressed"` // log lines that the rate limit suppressed
	Callers    []guard.CallerStats  `json:"callers"`    // the most expensive callers
	Shapes     []GuardShape         `json:"shapes"`     // shapes that killed workers, took longest, or were predicted to cost most
}

// GuardShape is the statistics of queries of one shape, with the shape's verdict in the
// ledger.
type GuardShape struct {
	guard.ShapeStats

	Verdict string       `json:"verdict,omitempty"` // ID of the verdict: GET /api/v1/quarantine/ID
	State   bezoar.State `json:"state,omitempty"`   // one of laned, quarantined, probing
	Score   float64      `json:"score,omitempty"`   // accumulated blame, in crashes
	Refused int64        `json:"refused,omitempty"`
}

// GuardRecord is the state of recording queries. Routes may share a file.
type GuardRecord struct {
	File     string `json:"file"`
	Recorded int64  `json:"recorded"`
	Dropped  int64  `json:"dropped"` // queries that were too long, not text, or too many for the disk
}

// GuardFault is a file of a guard that is unreadable or missing since a change.
type GuardFault struct {
	File  string    `json:"file"`
	Error string    `json:"error"`
	Since time.Time `json:"since"`
}

// GuardPoll is the state of polling the backend for hints.
type GuardPoll struct {
	Polled   time.Time `json:"polled,omitzero"` // time of the last successful poll
	Indices  int       `json:"indices"`         // number of known indices
	Fields   int       `json:"fields"`
	Failures int       `json:"failures"` // consecutive failures
	Error    string    `json:"error,omitempty"`
}

// Guards is the list of the routes' guards.
type Guards struct {
	Guards []Guard `json:"guards"`
}

// Guards returns the statistics of the routes' guards, with up to limit callers and shapes
// each; 0 means the default.
func (c *Client) Guards(ctx context.Context, limit int) ([]Guard, error) {
	out, err := Ask[Guards](ctx, c, http.MethodGet, PathGuards, Params{"limit": limit}.Values(), nil, "get what the guards have counted")
	return out.Guards, err
}
