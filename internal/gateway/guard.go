package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// The fields by which an answer says what the guard made of its query.
const (
	GuardField = "X-Bezoar-Guard"      // "report; predictor=agg_product" or "cap" or "reject"
	CapsField  = "X-Bezoar-Guard-Caps" // what was lowered: "result_window 50000→10000"
)

// Guard judges the queries of a route when their bodies are there, and before a
// worker sees them. A body that is not held whole is refused: what cannot be
// looked at may be anything. Rejected ones get 400 with a problem document,
// which for the kinds Elasticsearch, OpenSearch and GraphQL has the form of their
// errors too.
type Guard struct {
	Guard   *guard.Guard
	Kind    guard.Kind
	Dialect string // of SQL and of expressions
	// Expressions says for the kind Regex where in a request they are:
	// "query:NAME", "header:NAME", "form:NAME" or "json:$.a.b", where [*] is
	// every item of a list.
	Expressions []string
	// Statement says the same for SQL that is not the whole body.
	Statement []string
	// Prefix is what paths begin with before those of Elasticsearch or OpenSearch:
	// /es. Of a query it is left out. What does not begin with it cannot be read.
	Prefix string
	// Name labels callers that do not identify themselves, as they are labelled
	// elsewhere. Nil means a hash.
	Name func(caller string) string
	// Record says which queries are kept in a file; zero: none.
	Record GuardRecord
}

func (g *Guard) faults() []error {
	if g == nil {
		return nil
	}
	var errs []error
	if g.Guard == nil {
		errs = append(errs, errors.New("Guard.Guard is nil"))
	}
	if _, err := guard.ParseKind(string(g.Kind)); err != nil {
		errs = append(errs, fmt.Errorf("Guard.Kind: %w", err))
	}
	if g.Kind == guard.Regex && len(g.Expressions) == 0 {
		errs = append(errs, errors.New("Guard.Expressions is empty"))
	}
	if err := g.checkPrefix(); err != nil {
		errs = append(errs, err)
	}
	for _, place := range append(append([]string(nil), g.Expressions...), g.Statement...) {
		if err := checkPlace(place); err != nil {
			errs = append(errs, fmt.Errorf("Guard: %w", err))
		}
	}
	return errs
}

// errAnswered says that the request has its answer.
var errAnswered = errors.New("it has been answered")

// guarded holds the request against the route's guard. errAnswered means that it
// may not go on.
func (j *job) guarded() error {
	g := j.route.Guard
	if g == nil {
		return nil
	}
	path, judged, why := g.path(j.req.Path)
	if !judged {
		return nil
	}
	if !j.whole {
		return j.unheld()
	}
	if j.verdict == nil {
		j.verdict = new(guard.Verdict)
	}
	v := j.verdict
	q := j.query(path, why)
	who := j.asker()
	j.asked = j.askerName(&who)
	q.Class, q.Caller = g.Guard.Classify(who), j.asked
	places := g.Expressions
	if g.Kind == guard.SQL {
		places = g.Statement
	}
	if len(places) == 0 {
		j.line = g.take(&q, &who)
		j.check(&q, v)
		j.path, j.shape = path, v.Print
		return j.judged(v)
	}
	if j.found, why = j.texts(j.found[:0], places); len(j.found) == 0 && why == "" && g.Kind == guard.SQL && len(j.body) > 0 && !json.Valid(j.body) {
		j.found = append(j.found, string(j.body)) // whatever it is, it is not what the worker expects
	}
	if len(j.found) > maxTexts && g.Guard.ReportOnly(q.Class, j.asked) {
		j.note(GuardField, "report; predictor="+cost.BodyBytes.String())
		j.found = j.found[:maxTexts]
	}
	if len(j.found) > maxTexts {
		j.unseen(http.StatusBadRequest, fmt.Sprintf("The request has more than %d texts of its kind, of which so many can be looked at.", maxTexts))
		return errAnswered
	}
	worst, dearest := guard.Verdict{Verdict: guard.Accepted}, 0.0
	judge := func(one *guard.Query) {
		j.check(one, v)
		g.taken(one, &who, v.Verdict)
		if graver(v.Verdict, worst.Verdict) {
			worst.Verdict, worst.Findings = v.Verdict, append([]guard.Finding(nil), v.Findings...)
		}
		if v.Cost > dearest {
			dearest, worst.Mostly = v.Cost, v.Mostly
		}
		worst.Cost, worst.Shape, worst.Class, worst.Version, worst.Override = worst.Cost+v.Cost, v.Shape, v.Class, v.Version, v.Override
	}
	if why != "" {
		q.Unread = why
		judge(&q)
	}
	for _, text := range j.found {
		one := only(q, text)
		judge(&one)
	}
	if g.Kind == guard.SQL && len(j.found) == 1 { // what the request is about; an expression is but a part of it
		j.shape = v.Print
	}
	*v = worst
	if v.Verdict == guard.Capped {
		v.Verdict = guard.Rejected // within a field nothing is lowered
	}
	return j.judged(v)
}

// noRoom says what becomes of queries while MaxBuffered is used up.
const noRoom = "There is no room to hold the query until it has been looked at. Try again in a moment."

// unheld refuses a query that is not there whole, or only reports it.
func (j *job) unheld() error {
	g, who := j.route.Guard.Guard, j.asker()
	if g.ReportOnly(g.Classify(who), j.askerName(&who)) {
		j.note(GuardField, "report; predictor="+cost.BodyBytes.String())
		return nil
	}
	j.from.Close()
	if j.crowded {
		j.unseen(http.StatusServiceUnavailable, noRoom)
		return errAnswered
	}
	j.unseen(http.StatusRequestEntityTooLarge,
		fmt.Sprintf("The query is longer than the %d bytes that can be looked at (the route's buffer), or came too slowly.", j.route.Buffer))
	return errAnswered
}

// query is the request as the guard reads it.
func (j *job) query(path, why string) guard.Query {
	g := j.route.Guard
	return guard.Query{
		Kind: g.Kind, Method: j.req.Method, Path: path, RawQuery: j.req.Query, Dialect: g.Dialect,
		ContentType: j.first(h1.ContentType), ContentEncoding: j.encoding(), Body: j.body, Unread: why,
		Route: j.route.Name, Request: j.id, Room: j,
	}
}

// check has the guard judge a query, and gives back the memory that this took.
func (j *job) check(q *guard.Query, v *guard.Verdict) {
	had := j.reserved
	j.route.Guard.Guard.Check(q, v)
	j.g.held.Add(had - j.reserved)
	j.reserved = had
}

// Take reserves memory that the guard needs beside the body.
func (j *job) Take(n int) bool {
	if !j.reserve(int64(len(j.body) + n)) {
		j.crowded = true
	}
	return !j.crowded
}

// encoding is how the body is packed. Several fields are one list: a worker may
// heed any of them.
func (j *job) encoding() string {
	all := ""
	for i := range j.req.Fields {
		f := &j.req.Fields[i]
		switch {
		case !strings.EqualFold(f.Name, "Content-Encoding"):
		case all == "":
			all = f.Value
		default:
			all += ", " + f.Value
		}
	}
	return all
}

func graver(a, b guard.Outcome) bool {
	order := func(o guard.Outcome) int {
		switch o {
		case guard.Accepted:
			return 0
		case guard.Reported:
			return 1
		case guard.Capped:
			return 2
		case guard.Rejected:
		}
		return 3
	}
	return order(a) > order(b)
}

// judged does what the verdict says.
func (j *job) judged(v *guard.Verdict) error {
	j.rec.Cost = int64(v.Cost)
	switch v.Verdict {
	case guard.Accepted:
	case guard.Reported:
		j.note(GuardField, "report; predictor="+v.Findings[0].Predictor)
	case guard.Capped:
		j.lower(v)
	case guard.Rejected:
		if j.crowded {
			j.unseen(http.StatusServiceUnavailable, noRoom)
		} else {
			j.rejected(v)
		}
		return errAnswered
	}
	if r := j.admission.ChargeQuery(time.Now(), int64(v.Cost)); r != nil {
		j.refuse(r)
		return errAnswered
	}
	return nil
}

// note adds a field of ours to whatever is answered.
func (j *job) note(name, value string) {
	j.noted = append(j.noted, h1.Field{Name: name, Value: value})
}

// lower sends what the guard has made of the query.
func (j *job) lower(v *guard.Verdict) {
	j.note(GuardField, "cap")
	j.note(CapsField, plainASCII(strings.Join(v.Caps, ", ")))
	if v.RawQuery != "" {
		path, _, _ := strings.Cut(j.req.Target, "?")
		j.req.Query, j.req.Target = v.RawQuery, path+"?"+v.RawQuery
	}
	if v.Body == nil {
		return
	}
	if need := len(v.Body); need > cap(j.body) {
		j.reserve(int64(need))
		j.grow(need)
	}
	j.body = append(j.body[:0], v.Body...)
	if j.req.Length >= 0 {
		j.req.Length = int64(len(j.body))
	}
}

// maxCapsField bounds a field's value.
const maxCapsField = 1024

// plainASCII makes what is written with arrows fit into a field.
func plainASCII(s string) string {
	s = strings.ReplaceAll(s, "→", "->")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), maxCapsField)]
}

// asker is what the guard's classes may ask about who sends a query.
func (j *job) asker() guard.Caller {
	c := guard.Caller{OpaqueID: j.req.Get("X-Opaque-Id"), Header: j.req.Get}
	scheme, text, ok := strings.Cut(j.req.Get("Authorization"), " ")
	text = strings.TrimRight(strings.TrimSpace(text), "=") // backends ask for neither
	if !ok || len(text) > 512 {
		return c
	}
	basic := strings.EqualFold(scheme, "Basic")
	if !basic && !strings.EqualFold(scheme, "ApiKey") {
		return c
	}
	decoded, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return c
	}
	id, _, ok := strings.Cut(string(decoded), ":")
	switch {
	case !ok:
	case basic:
		c.User = id
	default:
		c.APIKey = id
	}
	return c
}

// maxAsker bounds a name that a caller chose.
const maxAsker = 256

// askerName is under whom the query is counted: as callers call themselves, or
// else as they are called in lists of callers that the route tells apart; and if
// it does not, by their addresses.
func (j *job) askerName(c *guard.Caller) string {
	for _, name := range [...]string{c.OpaqueID, c.APIKey, c.User} {
		switch {
		case name == guard.Others: // there are such
			return strings.Trim(name, "()")
		case len(name) > maxAsker:
			return strings.ToValidUTF8(name[:maxAsker], "")
		case name != "":
			return name
		}
	}
	name := j.rec.Caller
	switch {
	case name == "":
		name = j.callerIP()
	case j.route.Guard.Name == nil && j.route.Client != "ip":
		return fmt.Sprintf("#%016x", j.admission.Hash) // it may be a key
	}
	if of := j.route.Guard.Name; of != nil {
		return of(name)
	}
	return name
}
