package sinktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/outbox"
)

// Delivery is an event as received at the destination.
type Delivery struct {
	ID, Topic, Key, Type, Source string
	Headers                      map[string]string // headers of the event
	Payload                      []byte
}

// Place is a destination that only one test uses.
type Place interface {
	// Sink returns a new sink.
	Sink(t *testing.T) outbox.Sink
	// Delivered returns all deliveries so far; those of each key are in order. It is called
	// after the sink has reported success.
	Delivered(t *testing.T) []Delivery
}

// Traits describe the differences between destinations.
type Traits struct {
	// At returns a sink for the address of another server; nil: not supported.
	At func(t *testing.T, address string) outbox.Sink
	// TooLarge is a size of a payload that the destination refuses; 0: none.
	TooLarge int
	// Invalid changes a record so that the destination refuses it; nil: not supported.
	Invalid func(*outbox.Record)
	Dedups  bool // repeated deliveries appear once
	Text    bool // payloads that are not text are changed
	Filled  bool // empty payloads are refused
	Folds   bool // names of headers change their case
}

const (
	patience = time.Minute
	source   = "/outbox/test" // for opening sinks
)

// Source is the source for opening sinks.
const Source = source

// Run runs the suite. fresh creates an empty destination.
func Run(t *testing.T, traits Traits, fresh func(t *testing.T) Place) {
	tests := map[string]func(*testing.T, Traits, Place){
		"RoundTrip": roundTrip, "Payloads": payloads, "Order": order, "Refused": refused, "Again": again, "Together": together, "Ended": ended, "Nothing": nothing,
	}
	if traits.At != nil {
		tests["Away"], tests["Silent"] = away, silent
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, traits, fresh(t))
		})
	}
}

// Record returns a record with a JSON payload.
func Record(position int64, key string) outbox.Record {
	return outbox.Record{
		Event: outbox.Event{
			ID: fmt.Sprintf("event-%d", position), Topic: "orders.paid", Key: key, Type: "order.paid",
			Payload: fmt.Appendf(nil, `{"position":%d}`, position),
		},
		Position: position, Sequence: position, Written: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}
}

func sink(t *testing.T, p Place) outbox.Sink {
	t.Helper()
	s := p.Sink(t)
	t.Cleanup(func() { closed(t, s) })
	return s
}

func closed(t *testing.T, s outbox.Sink) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// send sends records, and checks that there is one result for each.
func send(t *testing.T, s outbox.Sink, records ...outbox.Record) []error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return sendWithin(ctx, t, s, records)
}

func sendWithin(ctx context.Context, t *testing.T, s outbox.Sink, records []outbox.Record) []error {
	t.Helper()
	results := s.Send(ctx, records)
	suite.FatalIf(t, len(results) != len(records), "%d results came for %d records", len(results), len(records))
	return results
}

func mustSend(t *testing.T, s outbox.Sink, records ...outbox.Record) {
	t.Helper()
	for i, err := range send(t, s, records...) {
		if err != nil {
			t.Fatalf("send %s: %v", records[i].ID, err)
		}
	}
}

// roundTrip checks that a delivery contains everything in the event.
func roundTrip(t *testing.T, traits Traits, p Place) {
	r := Record(7, "order 7/ä")
	r.Headers = map[string]string{"X-Tenant": "acme", "Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	plain := outbox.Record{Event: outbox.Event{ID: "second", Topic: "orders", Payload: []byte("text")}, Position: 8}
	mustSend(t, sink(t, p), r, plain)
	all := byID(t, p)
	got, second := all[r.ID], all["second"]
	suite.ErrorIf(t, len(all) != 2 || got.Topic != r.Topic || got.Key != r.Key || got.Type != r.Type || got.Source != source || string(got.Payload) != string(r.Payload), "it came as %+v", got)
	want := r.Headers
	if traits.Folds {
		got.Headers, want = folded(got.Headers), folded(want)
	}
	suite.ErrorIf(t, !maps.Equal(got.Headers, want), "its headers are %v, want %v", got.Headers, want)
	suite.ErrorIf(t, second.Topic != "orders" || second.Type != "orders" || second.Key != "" || string(second.Payload) != "text" || len(second.Headers) != 0, "the second one came as %+v", second)
}

func folded(headers map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range headers {
		out[strings.ReplaceAll(strings.ToLower(name), "-", "")] = value
	}
	return out
}

func byID(t *testing.T, p Place) map[string]Delivery {
	t.Helper()
	all := map[string]Delivery{}
	for _, d := range p.Delivered(t) {
		if _, twice := all[d.ID]; twice {
			t.Errorf("%s is there twice", d.ID)
		}
		all[d.ID] = d
	}
	return all
}

// payloads checks payloads with any bytes.
func payloads(t *testing.T, traits Traits, p Place) {
	bytes := make([]byte, 256)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	all := []string{"ünïcode", "null", `{"a": [1, 2.50]}`, "line\nline\r\n", strings.Repeat("x", 100_000)}
	if !traits.Text {
		all = append(all, string(bytes))
	}
	if !traits.Filled {
		all = append(all, "")
	}
	var records []outbox.Record
	for i, payload := range all {
		r := Record(int64(i+1), "k")
		r.Payload, r.Headers = []byte(payload), map[string]string{"Content-Type": "application/octet-stream"}
		records = append(records, r)
	}
	mustSend(t, sink(t, p), records...)
	got := byID(t, p)
	for i, payload := range all {
		if d, there := got[records[i].ID]; !there || string(d.Payload) != payload {
			t.Errorf("%.40q came as %.40q", payload, d.Payload)
		}
	}
	if traits.Filled {
		r := Record(100, "")
		r.Payload = nil
		isRefused(t, send(t, sink(t, p), r)[0])
	}
}

// order checks a thousand records of many keys, and without one.
func order(t *testing.T, _ Traits, p Place) {
	var records []outbox.Record
	var want []string
	for i := range 1000 {
		key := fmt.Sprint("key ", i*i%61)
		if i%10 == 0 {
			key = ""
		} else if i%7 == 0 {
			key = "hot"
		}
		records = append(records, Record(int64(i+1), key))
		want = append(want, records[i].ID)
	}
	mustSend(t, sink(t, p), records...)
	all := p.Delivered(t)
	if got := slices.Sorted(maps.Keys(positions(all))); len(all) != 1000 || !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Fatalf("%d events are there, %d of them different", len(all), len(got))
	}
	inOrder(t, all)
}

func positions(all []Delivery) map[string]int {
	at := map[string]int{}
	for i, d := range all {
		at[d.ID] = i
	}
	return at
}

// inOrder checks that the first deliveries of each key are in the order of their numbers.
func inOrder(t *testing.T, all []Delivery) {
	t.Helper()
	last, seen := map[string]int{}, map[string]bool{}
	for _, d := range all {
		var n int
		if _, err := fmt.Sscanf(d.ID, "event-%d", &n); err != nil {
			t.Fatalf("%q: %v", d.ID, err)
		}
		if d.Key == "" || seen[d.ID] {
			continue
		}
		seen[d.ID] = true
		suite.ErrorIf(t, n < last[d.Key], "%d of key %q came after %d", n, d.Key, last[d.Key])
		last[d.Key] = n
	}
}

// refused checks that a refused record is blamed, that later records of its key wait, and
// that all others are delivered.
func refused(t *testing.T, traits Traits, p Place) {
	suite.FatalIf(t, traits.TooLarge == 0 && traits.Invalid == nil, "the place takes everything: what does it refuse?")
	spoil := map[string]func(*outbox.Record){}
	if traits.TooLarge > 0 {
		spoil["large"] = func(r *outbox.Record) { r.Payload = []byte(strings.Repeat("x", traits.TooLarge)) }
	}
	if traits.Invalid != nil {
		spoil["invalid"] = traits.Invalid
	}
	s := sink(t, p)
	n := int64(0)
	next := func(key string) outbox.Record { n++; return Record(n, key) }
	var want []string
	for _, name := range slices.Sorted(maps.Keys(spoil)) {
		a, b := name+" a", name+" b"
		records := []outbox.Record{next(a), next(b), next(a), next(""), next(a), next(b), next("")}
		spoil[name](&records[2])
		spoil[name](&records[6])
		results := send(t, s, records...)
		for i, err := range results {
			switch i {
			case 2, 6:
				isRefused(t, err)
			case 4:
				suite.ErrorIf(t, !errors.Is(err, outbox.ErrBehind), "what is behind %s: %v, want that it is behind", name, err)
			default:
				want = append(want, records[i].ID)
				if err != nil {
					t.Errorf("%s, record %d of key %q: %v", name, i, records[i].Key, err)
				}
			}
		}
	}
	got := slices.Sorted(maps.Keys(positions(p.Delivered(t))))
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("%v are there, want %v", got, want)
	}
}

func isRefused(t *testing.T, err error) {
	t.Helper()
	f, ok := errors.AsType[*outbox.Failure](err)
	suite.ErrorIf(t, !ok || f.Class != bezoar.Invalid || f.Reason == "", "a record that is at fault: %v, want that it is invalid", err)
	suite.ErrorIf(t, err != nil && strings.Contains(err.Error(), "xxxxxxxxxx"), "the reason has the payload: %.200s", err)
}
