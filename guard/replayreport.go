package guard

import (
	"cmp"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// Replay is what the limits would have done to recorded queries. A record that stands for
// several queries, such as a row of statistics, counts as many times.
type Replay struct {
	Queries  int64 `json:"queries"`
	Rejected int64 `json:"rejected"`
	Capped   int64 `json:"capped"`
	Reported int64 `json:"reported"`
	Partial  int64 `json:"partial"` // queries that the log contains only in part, for example without bodies
	Skipped  int64 `json:"skipped"` // requests without a query
	Unread   int64 `json:"unread"`  // lines that should contain a query but cannot be read

	// Total duration of the queries, as far as the log has it, and of those that would have
	// been rejected.
	Took         float64 `json:"took_seconds"`
	RejectedTook float64 `json:"rejected_took_seconds"`

	// Comparison with the other limits, if there are any.
	Against *ReplayDiff `json:"against,omitempty"`

	Rules    []ReplayRow     `json:"rules"`    // by predictor, most rejections first
	Callers  []ReplayRow     `json:"callers"`  // most rejections first; at most MaxReplayRows
	Shapes   []ReplayShape   `json:"shapes"`   // most rejections first; at most MaxReplayRows
	Examples []ReplayExample `json:"examples"` // the first queries that would be rejected; at most MaxReplayExamples
	Faults   []ReplayFault   `json:"faults"`   // the first unreadable lines; at most MaxReplayExamples
}

// ReplayDiff compares two limits over the same queries.
type ReplayDiff struct {
	Rejected int64 `json:"rejected"` // by the other limits
	Newly    int64 `json:"newly"`    // rejected by the new limits but not by the other
	NoLonger int64 `json:"no_longer"`
}

// ReplayRow counts the outcomes for one caller or one rule.
type ReplayRow struct {
	Name     string  `json:"name"`
	Queries  int64   `json:"queries"`
	Rejected int64   `json:"rejected"`
	Newly    int64   `json:"newly,omitempty"`
	NoLonger int64   `json:"no_longer,omitempty"`
	Capped   int64   `json:"capped"`
	Reported int64   `json:"reported"`
	Cost     float64 `json:"cost"`                   // predicted, in units
	Took     float64 `json:"took_seconds,omitempty"` // measured
	MaxTook  float64 `json:"max_took_seconds,omitempty"`
}

// ReplayShape counts the outcomes for queries of one shape.
type ReplayShape struct {
	ReplayRow

	Kind      Kind    `json:"kind"`
	MaxCost   float64 `json:"max_cost"`
	Predictor string  `json:"predictor,omitempty"` // of the most severe finding
	Log       string  `json:"log,omitempty"`       // position of the first such query
	Line      int     `json:"line"`
	Text      string  `json:"text"` // start of the first such query
}

// ReplayExample is a query that would have been rejected.
type ReplayExample struct {
	Log     string  `json:"log,omitempty"`
	Line    int     `json:"line"`
	Caller  string  `json:"caller"`
	Finding Finding `json:"finding"` // the most severe one
	Text    string  `json:"text"`
	Took    float64 `json:"took_seconds,omitempty"`
}

// ReplayFault is a line that could not be read.
type ReplayFault struct {
	Log    string `json:"log,omitempty"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

func (r *Replay) count(d *delta, partial bool) {
	r.Queries += d.calls
	r.Took += d.took.Seconds()
	if partial {
		r.Partial += d.calls
	}
	switch d.outcome {
	case Rejected:
		r.Rejected += d.calls
		r.RejectedTook += d.took.Seconds()
	case Capped:
		r.Capped += d.calls
	case Reported:
		r.Reported += d.calls
	case Accepted:
	}
}

func (r *ReplayDiff) add(rejected bool, d *delta) {
	if rejected {
		r.Rejected += d.calls
	}
	if d.newly {
		r.Newly += d.calls
	}
	if d.noLonger {
		r.NoLonger += d.calls
	}
}

func (r *ReplayRow) add(d *delta) {
	r.Queries += d.calls
	r.Cost += d.cost
	r.Took += d.took.Seconds()
	r.MaxTook = max(r.MaxTook, d.longest.Seconds())
	switch d.outcome {
	case Rejected:
		r.Rejected += d.calls
	case Capped:
		r.Capped += d.calls
	case Reported:
		r.Reported += d.calls
	case Accepted:
	}
	if d.newly {
		r.Newly += d.calls
	}
	if d.noLonger {
		r.NoLonger += d.calls
	}
}

func rows(m map[string]*ReplayRow) []ReplayRow {
	list := make([]ReplayRow, 0, len(m))
	for _, r := range m {
		list = append(list, *r)
	}
	sorted.Func(list, func(a, b ReplayRow) int {
		return cmp.Or(-cmp.Compare(a.Rejected, b.Rejected), -cmp.Compare(a.Capped, b.Capped), -cmp.Compare(a.Reported, b.Reported), -cmp.Compare(a.Took, b.Took), cmp.Compare(a.Name, b.Name))
	})
	return list
}
