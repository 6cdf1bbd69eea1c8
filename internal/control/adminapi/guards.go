package adminapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard"
)

// PathGuards is what the guards of routes have counted: GET ?limit=, answered by
// [Guards].
const PathGuards = "/api/v1/guards"

// MaxGuardRows bounds the callers and the shapes of one guard that are listed;
// without a limit it is DefaultGuardRows.
const (
	MaxGuardRows     = 200
	DefaultGuardRows = 20
)

// Guard is the guard of one route. Callers are as they call themselves, and else
// as [Top] calls them.
type Guard struct {
	Route      string               `json:"route"`
	Fleet      string               `json:"fleet"`
	Kind       guard.Kind           `json:"kind"`
	Version    int64                `json:"version"` // of its limits, in this process
	ReportOnly bool                 `json:"report_only"`
	Dial       float64              `json:"dial"`             // what operators multiply its limits by
	Load       float64              `json:"load"`             // pressure on the fleet, 0 to 1
	Limits     string               `json:"limits,omitempty"` // the file that they are in; "" is the settings, or the default ones
	HintsAge   Duration             `json:"hints_age"`        // of the oldest; 0: there are none
	Hints      []guard.HintSource   `json:"hints,omitempty"`
	HintsFile  string               `json:"hints_file,omitempty"`
	Poll       *GuardPoll           `json:"poll,omitempty"`
	Record     *GuardRecord         `json:"record,omitempty"`
	Faults     []GuardFault         `json:"faults,omitempty"` // of its files: what held before them, holds
	Total      guard.Tally          `json:"total"`
	Minutes    []float64            `json:"minutes"`  // units in each of the last 60 minutes, the current one last
	Findings   []guard.FindingTally `json:"findings"` // by predictor and action
	Classes    []guard.NamedTally   `json:"classes"`  // those of the limits; "" is callers without one
	Named      []guard.NamedTally   `json:"named"`    // the callers that metrics name; the others together are guard.Others
	Judging    guard.Judging        `json:"judging"`
	Slow       int64                `json:"slow"`       // queries that took long, or killed
	Suppressed int64                `json:"suppressed"` // lines of the log that there were too many of
	Callers    []guard.CallerStats  `json:"callers"`    // those whose queries cost most
	Shapes     []GuardShape         `json:"shapes"`     // those that killed, took longest, or were predicted to cost most
}

// GuardShape is what is known of queries of one shape, and what the ledger holds
// against it.
type GuardShape struct {
	guard.ShapeStats

	Verdict string       `json:"verdict,omitempty"` // its id: GET /api/v1/quarantine/ID
	State   bezoar.State `json:"state,omitempty"`   // laned, quarantined, probing
	Score   float64      `json:"score,omitempty"`   // blame gathered, in crashes
	Refused int64        `json:"refused,omitempty"`
}

// GuardRecord is how recording queries goes. Routes may share a file.
type GuardRecord struct {
	File     string `json:"file"`
	Recorded int64  `json:"recorded"`
	Dropped  int64  `json:"dropped"` // too long, no text, or too fast for the disk
}

// GuardFault is a file of a guard that cannot be read, or is gone, since a change.
type GuardFault struct {
	File  string    `json:"file"`
	Error string    `json:"error"`
	Since time.Time `json:"since"`
}

// GuardPoll is how asking the backend for hints goes.
type GuardPoll struct {
	Polled   time.Time `json:"polled,omitzero"` // when it last went well
	Indices  int       `json:"indices"`         // that are known
	Fields   int       `json:"fields"`
	Failures int       `json:"failures"` // in a row
	Error    string    `json:"error,omitempty"`
}

// Guards answers GET [PathGuards].
type Guards struct {
	Guards []Guard `json:"guards"`
}

// Guards returns what the guards of routes have counted, with so many callers and
// shapes of each; 0 means the default.
func (c *Client) Guards(ctx context.Context, limit int) ([]Guard, error) {
	q := url.Values{}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	out, err := ask[Guards](ctx, c, http.MethodGet, PathGuards, q, nil, "get what the guards have counted")
	return out.Guards, err
}
