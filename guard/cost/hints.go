package cost

import "time"

// Hints provides knowledge about the data before a query is read. It may be nil. Lookups do
// not allocate and are safe for concurrent use. index may be a pattern or a comma-separated
// list, as in the request. If several indices match, the result is the most expensive
// combination.
type Hints interface {
	Field(index, field string) (FieldHint, bool)
	Index(index string) (IndexHint, bool)
	// Age returns the age of the oldest source, or 0 if there is none.
	Age() time.Duration
}

// FieldHint describes a field or a column. A zero value means unknown.
type FieldHint struct {
	Type        string  // keyword, text, wildcard, date, long …
	Cardinality float64 // number of distinct values; math.Inf(1): about one per document of an index of unknown size
	Unique      bool    // about one value per document
	HasRange    bool    // Min and Max are set
	Min, Max    float64 // for dates: milliseconds since 1970
}

// IndexHint describes an index or a table. A zero value means unknown.
type IndexHint struct {
	Docs    float64
	Shards  float64       // over all indices of the name
	Indices float64       // number of indices of the name
	Fields  float64       // number of mapped fields
	Span    time.Duration // time range of its documents
	Endless bool          // the time range is unbounded
}

// Defaults holds the assumptions for values without hints. 0 selects the default stated
// beside the field.
type Defaults struct {
	Cardinality float64       // distinct values of a field; default 100 000
	Docs        float64       // documents of an index; default unbounded
	DateSpan    time.Duration // range of a date field; default 1826 days, five years
	NumberSpan  float64       // range of a number field; default 60 000
	Fields      float64       // mapped fields of an index; default 50
	Shards      float64       // of an index; default 1
	Indices     float64       // indices that match one pattern; default 10
}
