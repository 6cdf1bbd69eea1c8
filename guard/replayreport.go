package guard

import (
	"cmp"
	"slices"
)

// Replay says what limits would have done to recorded queries. A record that
// stands for several, such as a row of statistics, counts as often.
type Replay struct {
	Queries  int64 `json:"queries"`
	Rejected int64 `json:"rejected"`
	Capped   int64 `json:"capped"`
	Reported int64 `json:"reported"`
	Partial  int64 `json:"partial"` // queries of which the log has not everything, such as their bodies
	Skipped  int64 `json:"skipped"` // requests that carry no query
	Unread   int64 `json:"unread"`  // lines that hold no query where one should be

	// How long queries took, as far as the log says, and how much of it those
	// took that would have been rejected.
	Took         float64 `json:"took_seconds"`
	RejectedTook float64 `json:"rejected_took_seconds"`

	// Beside the other limits, when there are any.
	Against *ReplayDiff `json:"against,omitempty"`

	Rules    []ReplayRow     `json:"rules"`    // by predictor, most rejected first
	Callers  []ReplayRow     `json:"callers"`  // likewise; at most MaxReplayRows
	Shapes   []ReplayShape   `json:"shapes"`   // likewise
	Examples []ReplayExample `json:"examples"` // the first that would be rejected; at most MaxReplayExamples
	Faults   []ReplayFault   `json:"faults"`   // the first that could not be read; likewise
}

// ReplayDiff is how two limits differ over the same queries.
type ReplayDiff struct {
	Rejected int64 `json:"rejected"` // by the other
	Newly    int64 `json:"newly"`    // rejected by the new and not by the other
	NoLonger int64 `json:"no_longer"`
}

// ReplayRow is what became of the queries of one caller, or of one rule's.
type ReplayRow struct {
	Name     string  `json:"name"`
	Queries  int64   `json:"queries"`
	Rejected int64   `json:"rejected"`
	Newly    int64   `json:"newly,omitempty"`
	NoLonger int64   `json:"no_longer,omitempty"`
	Capped   int64   `json:"capped"`
	Reported int64   `json:"reported"`
	Cost     float64 `json:"cost"`                   // predicted, in units
	Took     float64 `json:"took_seconds,omitempty"` // actual
	MaxTook  float64 `json:"max_took_seconds,omitempty"`
}

// ReplayShape is what became of queries that are alike in construction.
type ReplayShape struct {
	ReplayRow

	Kind      Kind    `json:"kind"`
	MaxCost   float64 `json:"max_cost"`
	Predictor string  `json:"predictor,omitempty"` // of the gravest finding
	Log       string  `json:"log,omitempty"`       // where the first of them is
	Line      int     `json:"line"`
	Text      string  `json:"text"` // how that one begins
}

// ReplayExample is a query that would have been rejected.
type ReplayExample struct {
	Log     string  `json:"log,omitempty"`
	Line    int     `json:"line"`
	Caller  string  `json:"caller"`
	Finding Finding `json:"finding"` // the gravest
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
	slices.SortFunc(list, func(a, b ReplayRow) int {
		return cmp.Or(-cmp.Compare(a.Rejected, b.Rejected), -cmp.Compare(a.Capped, b.Capped), -cmp.Compare(a.Reported, b.Reported), -cmp.Compare(a.Took, b.Took), cmp.Compare(a.Name, b.Name))
	})
	return list
}
