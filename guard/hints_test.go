package guard

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

const hintsText = `
_: a remark
shop:
  docs: 1_000_000
  shards: 3
  mapped_fields: 993
  source: whoever counted
  fields:
    id: unique
    Colour: low
    sku: high
    region: about 10k
    note: text
    note.raw: keyword
    sku.type: keyword
    price: {min: 1, max: 2000, type: double, cardinality: 500}
    at: {min: 2026-01-01, max: "2026-02-01T00:00:00Z", type: date}
    odd: mysterious
orders (sql): {same_as: shop, docs: 50}
logs-*: {docs: 10, time_span_days_unfiltered: "unknown, treat as unbounded", fields: {host: {cardinality: 7, unique: false}, n: {min: -5, max: 5}}}
logs-b*: {docs: 20, span: 90d, fields: {host: 9, n: {min: 0, max: 50}}}
counted: {buckets_1m_entire_range: above 65536 (somebody tried), surprise: 1}
word: nothing
alone: {same_as: shpo, docs: 3}
`

func hintStore(t *testing.T) (*HintStore, []string) {
	t.Helper()
	set, warnings, err := ParseHints("h.yaml", []byte(hintsText))
	if err != nil {
		t.Fatal(err)
	}
	s := &HintStore{}
	if err := s.Set(Static, set, time.Now()); err != nil {
		t.Fatal(err)
	}
	return s, warnings
}

func TestHintsAreFoundByNamePatternAndList(t *testing.T) {
	s, warnings := hintStore(t)
	for _, c := range []struct {
		index, field string
		want         cost.FieldHint
		known        bool
	}{
		{"shop", "id", cost.FieldHint{Cardinality: 1e6, Unique: true}, true},
		{"shop", "sku", cost.FieldHint{Cardinality: 1e6, Type: "keyword"}, true}, // no more values than documents
		{"shop", "COLOUR", cost.FieldHint{Cardinality: 100}, true},
		{"shop", "region", cost.FieldHint{Cardinality: 10_000}, true},
		{"shop", "note", cost.FieldHint{Type: "text"}, true},
		{"shop", "note.raw", cost.FieldHint{Type: "keyword"}, true},
		{"shop", "price", cost.FieldHint{Cardinality: 500, Type: "double", HasRange: true, Min: 1, Max: 2000}, true},
		{"shop", "at", cost.FieldHint{Type: "date", HasRange: true, Min: 1767225600000, Max: 1769904000000}, true},
		{"shop", "nothing", cost.FieldHint{}, false},
		{"elsewhere", "id", cost.FieldHint{}, false},
		{"Orders", "id", cost.FieldHint{Cardinality: 50, Unique: true}, true},
		{"public.orders", "id", cost.FieldHint{Cardinality: 50, Unique: true}, true},
		{"logs-a", "host", cost.FieldHint{Cardinality: 7}, true},
		{"logs-a", "n", cost.FieldHint{HasRange: true, Min: -5, Max: 5}, true},
		{"logs-b1", "n", cost.FieldHint{HasRange: true, Min: -5, Max: 50}, true}, // both patterns
		{"shop,logs-*", "host", cost.FieldHint{Cardinality: 7}, true},
		{"l*", "host", cost.FieldHint{Cardinality: 9}, true},
		{"*", "id", cost.FieldHint{Cardinality: 1e6, Unique: true}, true},
		{"eu:shop", "region", cost.FieldHint{Cardinality: 10_000}, true},
	} {
		if got, ok := s.Field(c.index, c.field); got != c.want || ok != c.known {
			t.Errorf("%s %s: %+v %v, want %+v", c.index, c.field, got, ok, c.want)
		}
	}
	if h, ok := s.Index("shop,logs-bee"); !ok || h.Docs != 1e6+30 || h.Fields != 993 || h.Shards != 3 || !h.Endless || h.Span != 90*24*time.Hour || h.Indices != 3 {
		t.Errorf("%+v", h)
	}
	if h, _ := s.Index("counted"); h.Span <= 65_536*time.Minute {
		t.Errorf("%+v", h)
	}
	if _, ok := s.Index("elsewhere"); ok {
		t.Error("something is known of an index that is not in the hints")
	}
	for i, want := range []string{"h.yaml:18:", "h.yaml:22:", "h.yaml:23:", "h.yaml:24:"} {
		if i >= len(warnings) || !strings.HasPrefix(warnings[i], want) {
			t.Errorf("warnings %q, want one at %s", warnings, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		s.Field("public.orders", "Region")
		s.Field("logs-0123456789-0123456789-0123456789-0123456789", "host")
		s.Index("shop,logs-*")
	}); n != 0 {
		t.Errorf("looking up costs %v allocations", n)
	}
}

func TestLaterSourcesAreBelievedAndTheOldestGivesTheAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &HintStore{}
		if _, ok := s.Field("a", "b"); ok || s.Age() != 0 {
			t.Fatal("an empty store knows something")
		}
		set := func(source Source, docs, card float64) {
			t.Helper()
			h := IndexHints{Fields: map[string]cost.FieldHint{"f": {Cardinality: card}}}
			h.Docs = docs
			if err := s.Set(source, HintSet{"a": h}, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		set(Static, 1000, 50)
		time.Sleep(time.Minute) // virtual: see synctest
		set(Polled, 2000, 60)
		if f, _ := s.Field("a", "f"); f.Cardinality != 60 {
			t.Errorf("%+v", f)
		}
		if h, _ := s.Index("a"); h.Docs != 2000 {
			t.Errorf("%+v", h)
		}
		if s.Age() != time.Minute {
			t.Errorf("age %v", s.Age())
		}
		if err := s.Set(9, nil, time.Now()); err == nil {
			t.Error("a source that does not exist was set")
		}
	})
}

func TestSourcesJoin(t *testing.T) {
	s := &HintStore{}
	set := func(source Source, hints HintSet) {
		t.Helper()
		if err := s.Set(source, hints, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	of := func(docs float64, fields map[string]cost.FieldHint, names ...string) IndexHints {
		return IndexHints{IndexHint: cost.IndexHint{Docs: docs, Shards: 2}, Of: names, Fields: fields}
	}
	set(Static, HintSet{"logs-*": of(0, map[string]cost.FieldHint{"user": {Cardinality: 300, Unique: true}, "host": {Cardinality: 9}})})
	set(Polled, HintSet{
		"logs-1": of(1000, map[string]cost.FieldHint{"host": {Cardinality: 50}}),
		"logs-2": of(500, nil),
		"logs":   of(1500, nil, "logs-1", "logs-2"),
		"shown":  of(1500, nil, "logs-1", "logs-2"),
	})
	for _, c := range []struct {
		index, field string
		want         float64
	}{
		{"logs-1", "user", 1000}, // from the pattern, though logs-1 has an entry of its own
		{"logs-1", "host", 50},
		{"logs-2", "host", 9},
		{"l*", "host", 50},
		{"logs-3", "host", 9},
	} {
		if f, _ := s.Field(c.index, c.field); f.Cardinality != c.want {
			t.Errorf("%s %s: %+v, want %v", c.index, c.field, f, c.want)
		}
	}
	for index, docs := range map[string]float64{"logs-1": 1000, "logs-2": 500, "logs": 1500, "l*-*": 1500, "sh*": 1500} {
		if h, _ := s.Index(index); h.Docs != docs {
			t.Errorf("%s has %v documents, want %v", index, h.Docs, docs)
		}
	}
}

func TestHintsThatAreNone(t *testing.T) {
	for in, want := range map[string]string{
		"[1]":           "h:1:1: hints must be a mapping",
		"a: {b: 1":      "h:1:",
		"a: 1\na: 2":    "h:2:1: a: appears twice",
		"x: {docs: [}]": "h:1:",
	} {
		if _, _, err := ParseHints("h", []byte(in)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
	if set, warnings, err := ParseHints("h", nil); err != nil || len(set)+len(warnings) != 0 {
		t.Errorf("nothing: %v %v %v", set, warnings, err)
	}
	big := HintSet{}
	for i := range MaxHintIndices + 1 {
		big[strings.Repeat("x", i%97)+time.Duration(i).String()] = IndexHints{}
	}
	if err := (&HintStore{}).Set(Polled, big, time.Time{}); err == nil {
		t.Error("too many indices were kept")
	}
}

func FuzzParseHints(f *testing.F) {
	f.Add([]byte(hintsText))
	f.Add([]byte(`{"a": {"same_as": "b", "fields": {"x": {"min": "2020-01"}}}, "b": {"same_as": "a"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, warnings, err := ParseHints("f", data)
		if err != nil {
			return
		}
		if len(warnings) > maxWarnings {
			t.Fatalf("%d warnings", len(warnings))
		}
		s := &HintStore{}
		if err := s.Set(Static, set, time.Now()); err != nil {
			t.Fatal(err)
		}
		for name, h := range set {
			for field := range h.Fields {
				if f, _ := s.Field(name, field); f.Cardinality < 0 || f.HasRange && f.Max < f.Min {
					t.Fatalf("%q %q: %+v", name, field, f)
				}
			}
			s.Index(name)
		}
	})
}
