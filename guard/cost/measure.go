package cost

// Measure is the value of one predictor at one place of a query.
type Measure struct {
	Predictor Predictor
	Value     float64 // math.Inf(1): unbounded
	Offset    int     // byte in Query.Body at which the construct begins; -1: not in the body (in the URL, or in decoded text)
	Part      int     // number of the batch member or statement, from 0

	Path   string // only with Explain: $.aggs.x.terms.size, the SQL construct, or url.size
	Detail string // only with Explain: the calculation, as in "3 levels: 100 × 50 × 20 = 100000"
	Fix    string // only with Explain: how to lower this value; "": use the text for the predictor
	Target string // index or table; "": unknown, or all; without Explain it is set only if that costs no allocation

	Cap Cap // how to lower the value in place; zero: impossible
}

// Cap describes how to lower a value by editing the text. The text from Start to End is
// replaced by Prefix, a whole number and Suffix. The number is
//
//	(limit - Base) / Factor
//
// rounded down; Factor 0 means 1. If it is below Least, the value cannot be lowered enough,
// and the query is rejected.
//
// For an absent value, Start equals End and Prefix adds the setting: `"size":` … `,` after
// the { of a body, ` LIMIT ` at the end of a SELECT.
type Cap struct {
	Place        CapPlace
	Start, End   int
	Base, Factor float64
	Least        float64
	Prefix       string // a constant: no allocation
	Suffix       string
}

// CapPlace is the text that a Cap edits.
type CapPlace uint8

const (
	CapNone CapPlace = iota // no cap
	CapBody                 // Start and End are positions in Query.Body
	CapURL                  // Start and End are positions in Query.RawQuery
)
