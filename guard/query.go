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

// Kind is a query language.
type Kind string

const (
	Elasticsearch Kind = "elasticsearch"
	OpenSearch    Kind = "opensearch"
	SQL           Kind = "sql"
	GraphQL       Kind = "graphql"
	Regex         Kind = "regex"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Elasticsearch, OpenSearch, SQL, GraphQL, Regex} }

// ParseKind parses the name of a kind, or a common short name.
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
	return "", fmt.Errorf("unknown kind of query %q: use elasticsearch, opensearch, sql, graphql or regex", name)
}

// Judges reports whether the guard judges requests to a path. It does not judge requests to
// Elasticsearch and OpenSearch without a query, such as those that index documents.
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

// Query is a query to judge. The guard never changes Body.
type Query struct {
	Kind Kind

	// For HTTP requests; otherwise empty. Path is decoded, RawQuery is not.
	Method, Path, RawQuery string

	ContentType, ContentEncoding string

	// Body is the body of a request, or the text of a statement, pattern or document.
	Body    []byte
	Dialect string // see cost.Query

	// Args holds the values of placeholders, if they are known.
	Args []any

	Unread string // why the query could not be converted to this form; it then counts as unparsable

	Caller string // whose statistics count the query; empty: anonymous
	Class  string // whose limits apply, as returned by Classify; unknown classes get the default limits

	Route, Request string // for the log: the route and the ID of the request

	// Room limits memory: readers ask it before they use much of it. If Room refuses, the
	// query exceeds body_bytes. Nil: unlimited.
	Room cost.Room
}

func (q *Query) cost() cost.Query {
	return cost.Query{
		Method: q.Method, Path: q.Path, RawQuery: q.RawQuery, ContentType: q.ContentType, ContentEncoding: q.ContentEncoding,
		Body: q.Body, Dialect: q.Dialect, Args: q.Args,
	}
}

// packed reports whether the body has a content encoding that the reader of this kind does
// not handle.
func (q *Query) packed() bool {
	return (q.Kind == SQL || q.Kind == Regex) && len(q.Body) > 0 && q.ContentEncoding != "" && !strings.EqualFold(q.ContentEncoding, "identity")
}

// Outcome is the result of judging a query.
type Outcome string

const (
	Accepted Outcome = "accept"
	Capped   Outcome = "cap"    // passed on with the verdict's Body and RawQuery
	Reported Outcome = "report" // passed on unchanged
	Rejected Outcome = "reject"
)

// Verdict is the decision about a query, with its reasons. Reusing a Verdict for the next
// query avoids allocations.
type Verdict struct {
	Verdict  Outcome   `json:"verdict"`
	Regex    string    `json:"regex,omitempty"`    // safe, polynomial, exponential or unknown: the worst expression in the query
	Findings []Finding `json:"findings,omitempty"` // most severe first; at most MaxFindings
	More     int       `json:"more,omitempty"`     // number of further findings

	Body     []byte   `json:"-"` // for caps: the body to send instead; nil: unchanged
	RawQuery string   `json:"-"` // for caps: the URL query to send instead; empty: unchanged
	Caps     []string `json:"caps,omitempty"`

	Cost     float64            `json:"cost"` // in units; see the package comment
	Mostly   string             `json:"-"`    // the predictor with the largest part of the cost; empty: none
	Shape    uint64             `json:"-"`    // hash of the structure, equal for queries that differ in values only
	Print    bezoar.Fingerprint `json:"-"`    // identity of the shape if Config.Print is set and the query was read; Shape is its prefix
	Class    string             `json:"class,omitempty"`
	Version  int64              `json:"version"`            // of the limits
	Override string             `json:"override,omitempty"` // IDs of the overrides in effect
	HintsAge time.Duration      `json:"-"`
}

// MaxFindings is the maximum number of findings in a verdict.
const MaxFindings = 32

func (v *Verdict) reset() {
	*v = Verdict{Verdict: Accepted, Findings: v.Findings[:0], Caps: v.Caps[:0]}
}

// Finding is one value above its limit.
type Finding struct {
	Predictor string `json:"predictor"`
	Path      string `json:"path"`   // $.aggs.x.terms.size, url.scroll, or an SQL construct
	Line      int    `json:"line"`   // from 1; 0: not in the body
	Column    int    `json:"column"` // in characters, from 1
	Value     Number `json:"value"`
	Limit     Number `json:"limit"` // after dial and load
	Action    Action `json:"action"`
	Would     Action `json:"would,omitempty"` // the action of the rule, if only reports are wanted
	Fix       string `json:"fix"`
	Detail    string `json:"detail,omitempty"`
	Index     string `json:"index,omitempty"` // index or table
	Part      int    `json:"part,omitempty"`  // number of the batch member or statement, from 0
	Rule      string `json:"rule,omitempty"`  // where the rule is written: "default" or file:line
}

// String returns the finding as one line for display.
func (f Finding) String() string {
	where := f.Path
	if f.Line > 0 {
		where = fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Path)
	}
	return fmt.Sprintf("%s: %s is %s, limit %s (%s): %s", where, f.Predictor, f.Value, f.Limit, f.Action, f.Fix)
}

// Number is a value or a limit. JSON has no infinity, so Unbounded stands for it there.
type Number float64

// Unbounded stands for infinity, and for all larger numbers, in JSON.
const Unbounded = 1e308

// String returns the shortest form, such as 100000, 0.5 or unbounded.
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

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case !(f < Unbounded):
		return strconv.AppendFloat(nil, Unbounded, 'g', -1, 64), nil
	case math.Abs(f) >= 1e15:
		return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
	}
	return []byte(n.String()), nil
}

// UnmarshalJSON implements json.Unmarshaler.
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
