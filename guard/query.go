package guard

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

// Kind is a language of queries.
type Kind string

const (
	Elasticsearch Kind = "elasticsearch"
	OpenSearch    Kind = "opensearch"
	SQL           Kind = "sql"
	GraphQL       Kind = "graphql"
	Regex         Kind = "regex"
)

// Kinds are all there are.
func Kinds() []Kind { return []Kind{Elasticsearch, OpenSearch, SQL, GraphQL, Regex} }

// ParseKind reads a kind, and its usual short names.
func ParseKind(name string) (Kind, error) {
	switch name {
	case "elasticsearch", "elastic", "es":
		return Elasticsearch, nil
	case "opensearch", "os":
		return OpenSearch, nil
	case "sql":
		return SQL, nil
	case "graphql", "gql":
		return GraphQL, nil
	case "regex", "regexp":
		return Regex, nil
	}
	return "", fmt.Errorf("no kind of query is called %q: use elasticsearch, opensearch, sql, graphql or regex", name)
}

// Judges reports whether requests to a path are looked at. Those of Elasticsearch
// and OpenSearch that carry no query, such as documents to be kept, are not.
func (k Kind) Judges(path string) bool {
	if k == Elasticsearch || k == OpenSearch {
		return elastic.Judges(path)
	}
	return true
}

func (k Kind) index() int {
	for i, known := range Kinds() {
		if k == known {
			return i
		}
	}
	return -1
}

const kinds = 5 // len(Kinds())

// Query is what is to be judged. Body is read, never changed.
type Query struct {
	Kind Kind

	// Of an HTTP request, empty otherwise. Path is decoded, RawQuery is not.
	Method, Path, RawQuery string

	ContentType, ContentEncoding string

	// Body is a request's body, or the text of a statement, pattern or document.
	Body    []byte
	Dialect string // as in cost.Query

	// Args are the values of placeholders, when they are known.
	Args []any

	Unread string // why it could not be brought into this form, if so: it is unparsable then

	Caller string // who is counted; "" is anonymous
	Class  string // whose limits apply, as Classify says; unknown ones have the default limits

	Route, Request string // for the log: which route it took, and the request's id

	// Room is asked for the memory that it takes to judge the query, where that is
	// much. Nil: there is always room. Without room the query is beyond body_bytes.
	Room cost.Room
}

func (q *Query) cost() cost.Query {
	return cost.Query{
		Method: q.Method, Path: q.Path, RawQuery: q.RawQuery, ContentType: q.ContentType, ContentEncoding: q.ContentEncoding,
		Body: q.Body, Dialect: q.Dialect, Args: q.Args,
	}
}

// packed reports whether the body is encoded, and of a kind whose reader does not
// look at that.
func (q *Query) packed() bool {
	return (q.Kind == SQL || q.Kind == Regex) && len(q.Body) > 0 && q.ContentEncoding != "" && !strings.EqualFold(q.ContentEncoding, "identity")
}

// Outcome is what becomes of a query.
type Outcome string

const (
	Accepted Outcome = "accept"
	Capped   Outcome = "cap"    // goes on with Body and RawQuery of the verdict
	Reported Outcome = "report" // goes on as it is
	Rejected Outcome = "reject"
)

// Verdict says what becomes of a query, and why. It may be used again for the
// next query, and then costs no allocation.
type Verdict struct {
	Verdict  Outcome   `json:"verdict"`
	Regex    string    `json:"regex,omitempty"`    // safe, polynomial, exponential, unknown: the worst expression in the query
	Findings []Finding `json:"findings,omitempty"` // the gravest first; at most MaxFindings
	More     int       `json:"more,omitempty"`     // findings beyond

	Body     []byte   `json:"-"` // with caps: what to send instead; nil when the body stays
	RawQuery string   `json:"-"` // with caps: likewise, "" when it stays
	Caps     []string `json:"caps,omitempty"`

	Cost     float64            `json:"cost"` // units, for quotas; see Config
	Mostly   string             `json:"-"`    // the predictor that most of the cost comes from; "" is none
	Shape    uint64             `json:"-"`    // what queries alike in construction have in common
	Print    bezoar.Fingerprint `json:"-"`    // of the shape, with Config.Print and when the query could be read; Shape is how it begins
	Class    string             `json:"class,omitempty"`
	Version  int64              `json:"version"`            // of the limits
	Override string             `json:"override,omitempty"` // ids of the overrides that held for it
	HintsAge time.Duration      `json:"-"`
}

// MaxFindings bounds how many findings one verdict lists.
const MaxFindings = 32

func (v *Verdict) reset() {
	*v = Verdict{Verdict: Accepted, Findings: v.Findings[:0], Caps: v.Caps[:0]}
}

// Finding is one value beyond its limit, with its arithmetic.
type Finding struct {
	Predictor string `json:"predictor"`
	Path      string `json:"path"`   // $.aggs.x.terms.size, url.scroll, or a construct of SQL
	Line      int    `json:"line"`   // from 1; 0 when it is not in the body
	Column    int    `json:"column"` // in characters, from 1
	Value     Number `json:"value"`
	Limit     Number `json:"limit"` // with dial and load
	Action    Action `json:"action"`
	Would     Action `json:"would,omitempty"` // what the rule says, when only reports are wanted
	Fix       string `json:"fix"`
	Detail    string `json:"detail,omitempty"`
	Index     string `json:"index,omitempty"` // index or table
	Part      int    `json:"part,omitempty"`  // member of a batch, or statement, from 0
	Rule      string `json:"rule,omitempty"`  // where the rule is written: "default" or file:line
}

// String is one line for people.
func (f Finding) String() string {
	where := f.Path
	if f.Line > 0 {
		where = fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Path)
	}
	return fmt.Sprintf("%s: %s is %s, limit %s (%s): %s", where, f.Predictor, f.Value, f.Limit, f.Action, f.Fix)
}

// Number is a value or a limit. In JSON it is a number always, which has no
// infinity: Unbounded stands for what has no bound.
type Number float64

// Unbounded is what has no bound in JSON, as is whatever is larger.
const Unbounded = 1e308

// String is the shortest form: 100000, 0.5, unbounded.
func (n Number) String() string {
	f := float64(n)
	switch {
	case !(f < Unbounded):
		return "unbounded"
	case math.Abs(f) >= 1e15:
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(f*1000)/1000, 'f', -1, 64)
}

// MarshalJSON writes a number.
func (n Number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case !(f < Unbounded):
		return strconv.AppendFloat(nil, Unbounded, 'g', -1, 64), nil
	case math.Abs(f) >= 1e15:
		return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
	}
	return []byte(n.String()), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(data []byte) error {
	var f float64
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if *n = Number(f); f >= Unbounded {
		*n = Number(math.Inf(1))
	}
	return nil
}
