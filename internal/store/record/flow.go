package record

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// Micros returns a time in the form of columns: microseconds; 0 for no time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// OrNone returns the time that [Micros] encoded.
func OrNone(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return Time(micros)
}

// instanceText holds the parts of an instance without columns of their own.
type instanceText struct {
	Item    string            `json:"item,omitempty"`
	Why     string            `json:"why,omitempty"`
	History *task.History     `json:"history,omitempty"`
	NextAt  int64             `json:"next_at,omitempty"`
	Output  []byte            `json:"output,omitempty"`
	Set     map[string]string `json:"set,omitempty"`
	Letter  string            `json:"letter,omitempty"`
	Group   string            `json:"group,omitempty"`
	Since   int64             `json:"since,omitempty"`
	First   int64             `json:"first,omitempty"`
	Canary  int64             `json:"canary,omitempty"`
}

// EncodeInstance encodes an instance without its run, task, index and state.
func EncodeInstance(i flow.Instance) (string, error) {
	m := mapper{f: escape}
	text := instanceText{
		Item: i.Item, Why: i.Why, NextAt: Micros(i.NextAt), Output: i.Output, Set: m.values(i.Set),
		Letter: i.Letter, Group: i.Group, Since: Micros(i.Since), First: Micros(i.First), Canary: i.Canary,
	}
	m.string(&text.Item)
	if m.err != nil {
		return "", m.err
	}
	if !reflect.ValueOf(i.History).IsZero() {
		text.History = &i.History
	}
	return encode("instance", i.Task, text)
}

// DecodeInstance fills in what [EncodeInstance] encoded.
func DecodeInstance(doc []byte, i *flow.Instance) error {
	var text instanceText
	if err := json.Unmarshal(doc, &text); err != nil {
		return fmt.Errorf("read a stored instance of %s (%.80q…): %w", i.Task, doc, err)
	}
	m := mapper{f: unescape}
	m.string(&text.Item)
	i.Item, i.Why, i.NextAt, i.Output, i.Set = text.Item, text.Why, OrNone(text.NextAt), text.Output, m.values(text.Set)
	i.Letter, i.Group, i.Since, i.First, i.Canary = text.Letter, text.Group, OrNone(text.Since), OrNone(text.First), text.Canary
	if text.History != nil {
		i.History = *text.History
	}
	return m.err
}

// attemptText holds the constant parts of an attempt that are not searched.
type attemptText struct {
	Labels   []string   `json:"labels,omitempty"`
	PoolSize int        `json:"pool_size,omitempty"`
	Limit    int        `json:"limit,omitempty"`
	Effect   string     `json:"effect,omitempty"`
	Intended int64      `json:"intended,omitempty"`
	Spec     *flow.Spec `json:"spec,omitempty"`
}

// EncodeAttempt encodes the constant parts of an attempt that are not searched.
func EncodeAttempt(a flow.Attempt) (string, error) {
	m := mapper{f: escape}
	text := attemptText{a.Labels, a.PoolSize, a.Limit, a.Effect, Micros(a.Intended), m.spec(a.Spec)}
	m.string(&text.Effect)
	if m.err != nil {
		return "", m.err
	}
	return encode("attempt", a.Task, text)
}

// DecodeAttempt fills in what [EncodeAttempt] encoded.
func DecodeAttempt(doc []byte, a *flow.Attempt) error {
	var text attemptText
	if err := json.Unmarshal(doc, &text); err != nil {
		return fmt.Errorf("read stored attempt %d (%.80q…): %w", a.Token, doc, err)
	}
	m := mapper{f: unescape}
	m.string(&text.Effect)
	a.Labels, a.PoolSize, a.Limit, a.Effect, a.Intended = text.Labels, text.PoolSize, text.Limit, text.Effect, OrNone(text.Intended)
	a.Spec = m.spec(text.Spec)
	return m.err
}

// spec rewrites the strings in a copy of an attempt's specification, because any of them
// may contain file names.
func (m *mapper) spec(s *flow.Spec) *flow.Spec {
	if s == nil {
		return nil
	}
	c := *s
	c.Command = slices.Clone(s.Command)
	m.strings(c.Command)
	m.string(&c.Item)
	m.string(&c.Dir)
	m.string(&c.Input.Item)
	c.Input.Params = m.values(s.Input.Params)
	if len(s.Env) > 0 {
		c.Env = make(map[string]flow.Value, len(s.Env))
		for name, v := range s.Env {
			m.string(&v.Text)
			c.Env[name] = v
		}
	}
	return &c
}

// EncodeStop encodes a request to stop an attempt.
func EncodeStop(s flow.Stop) (string, error) { return encode("a stop", s.Why, s) }

// DecodeStop fills in what [EncodeStop] encoded.
func DecodeStop(doc []byte, a *flow.Attempt) error {
	if len(doc) == 0 {
		return nil
	}
	a.Stop = new(flow.Stop)
	if err := json.Unmarshal(doc, a.Stop); err != nil {
		return fmt.Errorf("read the stop of stored attempt %d (%.80q…): %w", a.Token, doc, err)
	}
	return nil
}

// EncodeEnding encodes the end of an attempt; "" for an attempt that has not ended.
func EncodeEnding(a flow.Attempt) (string, error) {
	if a.State != flow.AttemptEnded {
		return "", nil
	}
	return encode("the end of attempt", a.Task, a.Ending)
}

// DecodeEnding fills in what [EncodeEnding] encoded.
func DecodeEnding(doc []byte, a *flow.Attempt) error {
	if len(doc) == 0 {
		return nil
	}
	if err := json.Unmarshal(doc, &a.Ending); err != nil {
		return fmt.Errorf("read the end of stored attempt %d (%.80q…): %w", a.Token, doc, err)
	}
	return nil
}

// EncodeDefinition encodes a definition. It also returns the hash under which runs share
// it.
func EncodeDefinition(d flow.Definition) (sum []byte, doc string, err error) {
	doc, err = encode("the definition of flow", d.Name, d)
	all := sha256.Sum256([]byte(doc))
	return all[:], doc, err
}

// DecodeDefinition decodes the result of [EncodeDefinition].
func DecodeDefinition(doc []byte) (d flow.Definition, err error) {
	if err := json.Unmarshal(doc, &d); err != nil {
		return d, fmt.Errorf("read a stored definition (%.80q…): %w", doc, err)
	}
	return d, nil
}

func EncodePages(pages []flow.Page) (string, error) {
	if len(pages) == 0 {
		return "", nil
	}
	return encode("the pages", "of a run", pages)
}

// DecodePages decodes the result of [EncodePages].
func DecodePages(doc []byte) (pages []flow.Page, err error) {
	if len(doc) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(doc, &pages); err != nil {
		return nil, fmt.Errorf("read stored pages (%.80q…): %w", doc, err)
	}
	return pages, nil
}

func EncodeValues(values map[string]string) (string, error) {
	m := mapper{f: escape}
	values = m.values(values)
	if m.err != nil || len(values) == 0 {
		return "", m.err
	}
	return encode("the parameters", "of a run", values)
}

// DecodeValues decodes the result of [EncodeValues].
func DecodeValues(doc []byte) (values map[string]string, err error) {
	if len(doc) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(doc, &values); err != nil {
		return nil, fmt.Errorf("read stored parameters (%.80q…): %w", doc, err)
	}
	m := mapper{f: unescape}
	values = m.values(values)
	return values, m.err
}

// orderText holds an order without its number and run.
type orderText struct {
	Verb   flow.Verb         `json:"verb"`
	Task   string            `json:"task,omitempty"`
	Index  int               `json:"index"`
	Group  string            `json:"group,omitempty"`
	Set    map[string]string `json:"set,omitempty"`
	Who    string            `json:"who,omitempty"`
	Reason string            `json:"reason,omitempty"`
}

// EncodeOrder encodes an order without its number, run and time.
func EncodeOrder(o flow.Order) (string, error) {
	m := mapper{f: escape}
	text := orderText{o.Verb, o.Task, o.Index, o.Group, m.values(o.Set), o.Who, o.Reason}
	if m.err != nil {
		return "", m.err
	}
	return encode("an order for run", o.Run, text)
}

// DecodeOrder fills in what [EncodeOrder] encoded.
func DecodeOrder(doc []byte, o *flow.Order) error {
	var text orderText
	if err := json.Unmarshal(doc, &text); err != nil {
		return fmt.Errorf("read stored order %d (%.80q…): %w", o.ID, doc, err)
	}
	m := mapper{f: unescape}
	o.Verb, o.Task, o.Index, o.Group = text.Verb, text.Task, text.Index, text.Group
	o.Set, o.Who, o.Reason = m.values(text.Set), text.Who, text.Reason
	return m.err
}

// values rewrites a map's values.
func (m *mapper) values(values map[string]string) map[string]string {
	if len(values) == 0 {
		return nil
	}
	mapped := make(map[string]string, len(values))
	for name, value := range values {
		m.string(&value)
		mapped[name] = value
	}
	return mapped
}

// DecodeLabels decodes the result of [EncodeLabels].
func DecodeLabels(doc []byte) (labels []string, err error) {
	if string(doc) == "[]" {
		return nil, nil
	}
	if err := json.Unmarshal(doc, &labels); err != nil {
		return nil, fmt.Errorf("read stored labels (%.80q…): %w", doc, err)
	}
	return labels, nil
}

// EncodeLabels encodes labels as a JSON array.
func EncodeLabels(labels []string) (string, error) {
	if len(labels) == 0 {
		return "[]", nil
	}
	return encode("labels", "of a node", labels)
}
