package cost

import "time"

// Hints is what is known of the data before a query is read. It may be nil.
// Look-ups do not allocate and are safe for concurrent use. index may be a
// pattern or a list with commas, as in the request; of several that match, the
// answer is the costliest.
type Hints interface {
	Field(index, field string) (FieldHint, bool)
	Index(index string) (IndexHint, bool)
	// Age is how old the oldest source is; 0 when there is none.
	Age() time.Duration
}

// FieldHint is what is known of a field or a column. Zero values are unknown.
type FieldHint struct {
	Type        string  // keyword, text, wildcard, date, long …
	Cardinality float64 // distinct values; math.Inf(1): about one for each document of an index of unknown size
	Unique      bool    // about one value for each document
	HasRange    bool    // Min and Max are known
	Min, Max    float64 // dates: milliseconds since 1970
}

// IndexHint is what is known of an index or a table. Zero values are unknown.
type IndexHint struct {
	Docs    float64
	Shards  float64       // over all indices that the name stands for
	Indices float64       // that the name stands for
	Fields  float64       // mapped
	Span    time.Duration // of time that its documents cover
	Endless bool          // the span is not bounded
}

// Defaults is what is assumed where no hint says better. 0 is the default
// named beside each.
type Defaults struct {
	Cardinality float64       // of a field; 100 000
	Docs        float64       // of an index; unbounded
	DateSpan    time.Duration // of a date field without a range; 1826 days, five years
	NumberSpan  float64       // of a number field without a range; 60 000
	Fields      float64       // mapped by an index; 50
	Shards      float64       // of an index; 1
	Indices     float64       // that one pattern stands for; 10
}
