package hints

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
)

func TestOnePollOverTCP(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken func(*http.Request) (int, string)
		shards float64
	}{
		{"as an administrator", nil, 3},
		{"without monitor", func(r *http.Request) (int, string) {
			if strings.HasPrefix(r.URL.Path, "/_c") || r.URL.Path == "/_data_stream" {
				return 403, `{"error": {"type": "security_exception"}}`
			}
			return 0, ""
		}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBackend()
			b.broken = c.broken
			p, store := serve(t, b, Config{})
			if err := p.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if h, ok := store.Index("shop"); !ok || h.Docs != 50_000 || h.Shards != c.shards || h.Fields != 13 || h.Indices != 1 {
				t.Errorf("shop: %+v", h)
			}
			for field, want := range map[string]cost.FieldHint{
				"sku": {Type: "keyword"}, "name": {Type: "text"}, "name.raw": {Type: "keyword"}, "buyer.id": {Type: "long"}, "items.sku": {Type: "keyword"},
				"paid": {Type: "boolean", Cardinality: 2}, "v": {Type: "constant_keyword", Cardinality: 1}, "town": {Type: "keyword"}, "weekday": {Type: "keyword"},
			} {
				if got, ok := store.Field("shop", field); !ok || got != want {
					t.Errorf("%s: %+v, want %+v", field, got, want)
				}
			}
			if _, ok := store.Index(".security-7"); ok {
				t.Error("an index that backends keep for themselves is known")
			}
			if h, ok := store.Index("store"); !ok || h.Docs != 50_000 {
				t.Errorf("an alias: %+v", h)
			}
			if h, ok := store.Index("sh*,st*"); !ok || h.Docs != 100_000 { // two names, each of them asked for
				t.Errorf("two patterns: %+v", h)
			}
			if h, ok := store.Index("*"); !ok || h.Docs != 13_050_000 { // and no alias twice
				t.Errorf("all: %+v", h)
			}
			if h, ok := store.Index("logs"); c.broken == nil && (!ok || h.Docs != 13_000_000 || h.Indices != 2 || h.Fields != 3) {
				t.Errorf("a data stream: %+v", h)
			}
			if store.Age() > time.Minute {
				t.Errorf("age %v", store.Age())
			}
		})
	}
}

func TestNightMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend()
		p, store := pipe(t, b, Config{Fields: []string{"*", "-items.*"}, At: 5 * time.Hour}) // synctest begins at midnight
		stop := run(t, p)
		time.Sleep(4 * time.Hour)
		if n := b.requests("_search"); n != 0 {
			t.Fatalf("%d searches before the night", n)
		}
		if n := b.requests("_cat/indices"); n < 20 || n > 28 {
			t.Errorf("%d polls in four hours, want one in ten minutes", n)
		}
		time.Sleep(2 * time.Hour)
		for _, c := range []struct {
			index, field string
			want         cost.FieldHint
		}{
			{"shop", "sku", cost.FieldHint{Type: "keyword", Cardinality: 50_000, Unique: true}},
			{"shop", "colour", cost.FieldHint{Type: "keyword", Cardinality: 12}},
			{"shop", "price", cost.FieldHint{Type: "scaled_float", Cardinality: 900, HasRange: true, Min: 0.5, Max: 2000}},
			{"shop", "at", cost.FieldHint{Type: "date", HasRange: true, Min: 1767225600000, Max: 1769904000000}},
			{"shop", "items.sku", cost.FieldHint{Type: "keyword"}},
			{"store", "colour", cost.FieldHint{Type: "keyword", Cardinality: 12}},
			{".ds-logs-2026.11.01-000001", "trace", cost.FieldHint{Type: "keyword", Cardinality: 9_000_000, Unique: true}}, // half of a sample were new
			{".ds-logs-2026.11.02-000002", "new", cost.FieldHint{Type: "ip", Cardinality: 2000}},                           // √4 times those of a sample
			{"logs", "@timestamp", cost.FieldHint{Type: "date", HasRange: true, Min: 1.7e12, Max: 1.8e12}},
		} {
			if got, _ := store.Field(c.index, c.field); got != c.want {
				t.Errorf("%s %s: %+v, want %+v", c.index, c.field, got, c.want)
			}
		}
		if s := p.Status(); s.Measured != 13 || s.Pending != 0 || s.Error != "" || s.Indices != 4 {
			t.Errorf("%+v", s)
		}
		b.mu.Lock()
		if b.most != 1 {
			t.Errorf("%d requests at once", b.most)
		}
		for i, a := range b.asked {
			if strings.HasSuffix(a, "_search") && (!strings.Contains(b.bodies[i], `"size":0,"timeout":"5000ms"`) ||
				strings.Contains(b.bodies[i], "cardinality") != strings.Contains(b.bodies[i], `"terminate_after":1000000`)) {
				t.Errorf("%s %s", a, b.bodies[i])
			}
		}
		b.mu.Unlock()

		n := b.requests("_search")
		time.Sleep(24 * time.Hour)
		if again := b.requests("_search"); again != n {
			t.Errorf("%d searches although nothing has changed", again-n)
		}
		b.set(func(b *backend) {
			b.docs["shop"] += 1000
			b.values["colour"]["c"] = 14
			delete(b.docs, ".ds-logs-2026.11.01-000001")
		})
		time.Sleep(24 * time.Hour)
		if f, _ := store.Field("shop", "colour"); f.Cardinality != 14 {
			t.Errorf("after another night: %+v", f)
		}
		if _, ok := store.Index(".ds-logs-2026.11.01-000001"); ok {
			t.Error("an index that is gone is still known")
		}
		stop()
	})
}

func TestBacksOff(t *testing.T) {
	always := func(status int, body string) func(*http.Request) (int, string) {
		return func(*http.Request) (int, string) { return status, body }
	}
	onlyAt := func(suffix string, status int, body string) func(*http.Request) (int, string) {
		return func(r *http.Request) (int, string) {
			if strings.HasSuffix(r.URL.Path, suffix) {
				return status, body
			}
			return 0, ""
		}
	}
	deep := `{"shop": {"mappings": ` + strings.Repeat(`{"properties": {"a": `, 5100) + "{}" + strings.Repeat("}}", 5100) + "}}"
	for _, c := range []struct {
		name   string
		change func(b *backend)
		says   string
	}{
		{"red", func(b *backend) { b.status = "red" }, "red"},
		{"overloaded", func(b *backend) { b.broken = always(429, `{"error": {"type": "circuit_breaking_exception"}}`) }, "status 429"},
		{"down", func(b *backend) { b.broken = always(503, "no") }, "status 503"},
		{"slow", func(b *backend) { b.took = time.Minute }, "deadline exceeded"},
		{"no JSON", func(b *backend) { b.broken = always(200, "<html>") }, "read the answer"},
		{"cut off", func(b *backend) { b.broken = onlyAt("_mapping", 200, `{"shop": {"mappings": {"prop`) }, "read the answer"},
		{"deep", func(b *backend) { b.broken = onlyAt("_mapping", 200, deep) }, "exceeded max depth"},
		{"huge", func(b *backend) { b.broken = onlyAt("indices", 200, `[{"index": "`+strings.Repeat("x", 128<<10)+`"}]`) }, "larger than MaxAnswer"},
		{"elsewhere", func(b *backend) { b.broken = always(302, "") }, "status 302"},
		{"in other types", func(b *backend) { b.broken = onlyAt("indices", 200, `{"a": [1]}`) }, "read the answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBackend()
				p, store := pipe(t, b, Config{At: NoNight, MaxAnswer: 128 << 10})
				stop := run(t, p)
				time.Sleep(time.Minute)
				b.set(c.change)
				time.Sleep(2 * time.Hour)
				if s := p.Status(); !strings.Contains(s.Error, c.says) || s.Failures < 8 || s.Failures > 150 {
					t.Errorf("%+v", s)
				}
				if h, ok := store.Index("shop"); !ok || h.Docs != 50_000 { // what was known stays
					t.Errorf("%+v", h)
				}
				if store.Age() < 110*time.Minute {
					t.Errorf("age %v", store.Age())
				}
				if n := b.requests("_search"); n > 0 {
					t.Errorf("%d searches", n)
				}
				b.set(func(b *backend) { b.status, b.took, b.broken = "yellow", 0, nil })
				time.Sleep(30 * time.Minute)
				if s := p.Status(); s.Error != "" || s.Failures != 0 || store.Age() > 15*time.Minute {
					t.Errorf("after it is well again: %+v, age %v", s, store.Age())
				}
				stop()
			})
		})
	}
}

// TestSlowNights has a backend that takes its time: the night asks less often.
func TestSlowNights(t *testing.T) {
	searches := func(took time.Duration) (n int) {
		synctest.Test(t, func(t *testing.T) {
			b := newBackend()
			for i := range 60 {
				name := fmt.Sprintf("i%03d", i)
				b.docs[name], b.mappings[name] = 1000+i, b.mappings["shop"]
			}
			p, _ := pipe(t, b, Config{AtStart: true, Night: 10 * time.Minute, MaxRequests: 400})
			stop := run(t, p)
			time.Sleep(time.Minute)
			b.set(func(b *backend) { b.took = took })
			before := b.requests("_search")
			time.Sleep(20 * time.Minute) // past its end
			n = b.requests("_search") - before
			if b.most != 1 {
				t.Errorf("%d requests at once", b.most)
			}
			stop()
		})
		return n
	}
	quick, slow := searches(0), searches(2*time.Second)
	if quick < 200 || quick > 400 { // MaxRequests, some of them in the first minute
		t.Errorf("%d searches of a quick backend", quick)
	}
	if slow > quick/5 || slow < 5 {
		t.Errorf("%d searches of a slow backend, %d of a quick one", slow, quick)
	}
}

func TestNightsSurviveFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend()
		b.broken = func(r *http.Request) (int, string) {
			if strings.HasSuffix(r.URL.Path, "shop/_search") {
				return 400, `{"error": {"type": "illegal_argument_exception", "reason": "Fielddata is disabled"}}`
			}
			return 0, ""
		}
		p, store := pipe(t, b, Config{AtStart: true})
		stop := run(t, p)
		time.Sleep(time.Hour)
		if f, _ := store.Field("logs", "new"); f.Cardinality != 2000 {
			t.Errorf("%+v", f)
		}
		if f, _ := store.Field("shop", "colour"); f.Cardinality != 0 {
			t.Errorf("%+v", f)
		}
		n := b.requests("shop/_search")
		b.set(func(b *backend) {
			b.broken = func(r *http.Request) (int, string) {
				if strings.HasSuffix(r.URL.Path, "_search") {
					return 503, ""
				}
				return 0, ""
			}
			for name := range b.docs {
				b.docs[name] += 5
			}
		})
		time.Sleep(24 * time.Hour)
		if more := b.requests("shop/_search") - n; more < 1 || more > 12*tries {
			t.Errorf("%d more searches of a field that is refused", more)
		}
		stop()
	})
}

// TestBounds has more of everything than is kept.
func TestBounds(t *testing.T) {
	b := newBackend()
	var wide strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&wide, `"f%d": {"type": "keyword"},`, i)
	}
	b.mappings["shop"] = `{"properties": {` + wide.String() + strings.Repeat(`"o": {"properties": {`, 100) + `"z": {"type": "long"}` + strings.Repeat("}}", 100) + `}}`
	for i := range 500 {
		name := fmt.Sprintf("small-%d", i)
		b.docs[name], b.mappings[name] = 10+i, `{"properties": {"a": {"type": "keyword"}}}`
	}
	p, store := serve(t, b, Config{MaxIndices: 100, MaxFields: 50, MaxMeasured: 5, Indices: []string{"s*", "-small-1*"}})
	if err := p.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.tell(nil)
	if s := p.Status(); s.Indices != 100 || s.Left == 0 || s.Fields != 50+99 {
		t.Errorf("%+v", s)
	}
	if h, _ := store.Index("shop"); h.Fields < 3000 { // they are counted all the same
		t.Errorf("%+v", h)
	}
	if _, ok := store.Index("small-150"); ok {
		t.Error("small-150 was taken out")
	}
	if _, ok := store.Index("small-499"); !ok {
		t.Error("the largest are not known")
	}
	if n := len(p.tasks()); n != 5+99 {
		t.Errorf("%d fields to measure", n)
	}
	for _, a := range b.asked {
		if len(a) > 2*maxPath {
			t.Errorf("a path of %d bytes", len(a))
		}
	}
}

func TestHugeMappingsAreAskedInParts(t *testing.T) {
	b := newBackend()
	b.mappings["shop"] = `{"properties": {"a": {"type": "keyword", "meta": {"x": "` + strings.Repeat("x", 100_000) + `"}}}}`
	p, store := serve(t, b, Config{MaxAnswer: 50_000})
	if err := p.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h, ok := store.Index("shop"); !ok || h.Docs != 50_000 || h.Fields != 0 {
		t.Errorf("%+v", h)
	}
	if _, ok := store.Field("logs", "trace"); !ok {
		t.Error("the fields of others are not known")
	}
}

func TestStoreRefuses(t *testing.T) {
	b := newBackend()
	p, _ := serve(t, b, Config{Store: refusing{}})
	if wait := p.round(t.Context()); wait <= 0 || !strings.Contains(p.Status().Error, "full") {
		t.Errorf("%v %+v", wait, p.Status())
	}
}

type refusing struct{}

func (refusing) Set(guard.Source, guard.HintSet, time.Time) error { return fmt.Errorf("full") }

func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pipe(t, newBackend(), Config{})
		stop := run(t, p)
		synctest.Wait()
		if err := p.Run(t.Context()); err == nil {
			t.Error("two at once")
		}
		stop()
	})
}

func TestConfigFaults(t *testing.T) {
	_, err := New(Config{URL: "http://u:secret@h:9200", Interval: time.Millisecond, MaxPause: time.Microsecond, MaxIndices: -1, At: 25 * time.Hour})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
	for _, name := range []string{"URL", "Store", "Interval", "MaxPause", "MaxIndices", "At is"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("no fault of %s in %v", name, err)
		}
	}
	c := Config{URL: "https://h:9200", Header: http.Header{"Authorization": {"secret"}}}
	if s := c.String(); strings.Contains(s, "secret") || !strings.Contains(s, "https://h:9200") {
		t.Error(s)
	}
	for patterns, name := range map[string]string{"*": ".kibana", "a*,-ab": "ab", "-b": "b"} {
		list := strings.Split(patterns, ",")
		if chosen(list, name) && !hidden(list, name) {
			t.Errorf("%s is chosen by %s", name, patterns)
		}
	}
}
