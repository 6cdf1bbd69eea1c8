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
	}{
		{"as an administrator", nil},
		{"without health and data streams", func(r *http.Request) (int, string) {
			if r.URL.Path == "/_cluster/health" || r.URL.Path == "/_data_stream" {
				return 403, `{"error": {"type": "security_exception"}}`
			}
			return 0, ""
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBackend()
			b.broken = c.broken
			p, store := serve(t, b, Config{})
			if err := p.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if h, ok := store.Index("shop"); !ok || h.Docs != 50_000 || h.Shards != 3 || h.Fields != 13 || h.Indices != 1 {
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
				p, store := pipe(t, b, Config{MaxAnswer: 128 << 10})
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
	p, store := serve(t, b, Config{MaxIndices: 100, MaxFields: 50, Indices: []string{"s*", "-small-1*"}})
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
	_, err := New(Config{URL: "http://u:secret@h:9200", Interval: time.Millisecond, Timeout: time.Microsecond, MaxIndices: -1, Indices: []string{"a*", "[a"}})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatal(err)
	}
	for _, name := range []string{"URL", "Store", "Interval", "Timeout", "MaxIndices", `"[a" in Indices`} {
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
