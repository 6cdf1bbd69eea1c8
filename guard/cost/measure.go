package cost

// Measure is how much of one predictor one place in a query holds.
type Measure struct {
	Predictor Predictor
	Value     float64 // math.Inf(1): unbounded
	Offset    int     // byte in Query.Body at which the construct begins; -1 when it is not there (in the URL, in decoded text)
	Part      int     // which member of a batch, or which statement, from 0

	Path   string // only with Explain: $.aggs.x.terms.size, the SQL construct, url.size
	Detail string // only with Explain: the arithmetic, as in "3 levels: 100 × 50 × 20 = 100000"
	Fix    string // only with Explain: how to lower this very one; "" for what the predictor's limit says
	Target string // index or table; "" when unknown or all. Without Explain only if it costs no allocation

	Cap Cap // how the value can be lowered in place; zero when it cannot
}

// Cap says how to lower a value by editing the text. The text from Start to End
// becomes Prefix, a whole number, Suffix. The number is
//
//	(limit - Base) / Factor
//
// rounded down; Factor 0 counts as 1. When that is below Least the value cannot
// be lowered enough, and the query is refused instead.
//
// For a value that is absent, Start equals End and Prefix names it: at the {
// of a body, `"size":` … `,`; at the end of a SELECT, ` LIMIT `.
type Cap struct {
	Place        CapPlace
	Start, End   int
	Base, Factor float64
	Least        float64
	Prefix       string // static text: no allocation
	Suffix       string
}

// CapPlace is the text that a Cap edits.
type CapPlace uint8

const (
	CapNone CapPlace = iota // cannot be lowered
	CapBody                 // Start and End are bytes of Query.Body
	CapURL                  // Start and End are bytes of Query.RawQuery
)
