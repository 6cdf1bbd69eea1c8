package fingerprint_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
)

// sink keeps results alive.
type sink struct{ work, shape bezoar.Fingerprint }

func benchmark(b *testing.B, in *fingerprint.Input) {
	b.Helper()
	p, err := fingerprint.New(fingerprint.Key{1, 2, 3}, fingerprint.Config{})
	if err != nil {
		b.Fatal(err)
	}
	fingerprint.Forgetful(p)
	in.Complete, in.Length = true, int64(len(in.Body))
	b.ReportAllocs()
	b.SetBytes(int64(len(in.Body)))
	var s sink
	for b.Loop() {
		s.work, s.shape = p.Work(in)
	}
	if s.work.IsZero() {
		b.Fatal("no fingerprint")
	}
}

// document returns a JSON document of about a kilobyte, sorted and compact.
func document() []byte {
	rows := make([]map[string]any, 0, 8)
	for i := range 8 {
		rows = append(rows, map[string]any{
			"id": 1000 + i, "name": fmt.Sprintf("customer number %d", i), "email": fmt.Sprintf("c%d@example.com", i),
			"active": i%2 == 0, "balance": 12.5 * float64(i+1), "tags": []string{"retail", "north"},
		})
	}
	b, err := json.Marshal(map[string]any{"filter": "status:open", "limit": 50, "rows": rows, "trace": "3f2a9c0d11e84b7f"})
	if err != nil {
		panic(err)
	}
	return b
}

// order returns a JSON document of at most n bytes that is one long array of alike
// objects, whose names are not in order.
func order(n int) []byte {
	b := []byte(`{"id":17,"kind":"order","total":17.50,"rush":true,"lines":[`)
	for line := `{"sku":"P-00042","quantity":3,"note":"by the blue door"},`; len(b)+2*len(line) < n; {
		b = append(b, line...)
	}
	return append(b, `{"sku":"P-1","quantity":1,"note":"xxxxxxxx"}]}`...)
}

// unsorted is document pretty-printed with its names in falling order.
func unsorted() []byte {
	var doc any
	if err := json.Unmarshal(document(), &doc); err != nil {
		panic(err)
	}
	var out bytes.Buffer
	writeFalling(&out, doc)
	return out.Bytes()
}

var header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"bench"}, "Accept": {"*/*"}}

func BenchmarkWork(b *testing.B) {
	kilo := bytes.Repeat([]byte("0123456789abcdef"), 64)
	form := []byte(url.Values{"name": {"Ada Lovelace"}, "mail": {"ada@example.com"}, "text": {string(bytes.Repeat([]byte("a few words, "), 64))}}.Encode())
	b.Run("get", func(b *testing.B) {
		benchmark(b, &fingerprint.Input{Method: "GET", Path: "/search/items", RawQuery: "page=2&q=lovelace", Header: header})
	})
	b.Run("opaque-1k", func(b *testing.B) {
		benchmark(b, &fingerprint.Input{Method: "POST", Path: "/upload/chunk", ContentType: "application/octet-stream", Header: header, Body: kilo})
	})
	b.Run("json-1k-canonical", func(b *testing.B) {
		benchmark(b, &fingerprint.Input{Method: "POST", Path: "/api/v1/search", ContentType: "application/json", Header: header, Body: document()})
	})
	b.Run("json-1k-unsorted-indented", func(b *testing.B) {
		benchmark(b, &fingerprint.Input{Method: "POST", Path: "/api/v1/search", ContentType: "application/json", Header: header, Body: unsorted()})
	})
	for _, n := range []int{1 << 10, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("json-%dk-lines", n>>10), func(b *testing.B) {
			benchmark(b, &fingerprint.Input{Method: "POST", Path: "/items/17", ContentType: "application/json", Header: header, Body: order(n)})
		})
	}
	b.Run("form-1k", func(b *testing.B) {
		benchmark(b, &fingerprint.Input{Method: "POST", Path: "/contact", ContentType: "application/x-www-form-urlencoded", Header: header, Body: form})
	})
}

// What the most expensive 64 KiB cost that we know of.
func BenchmarkHostile64K(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var flat, deep, form bytes.Buffer
	for flat.WriteString("{"); flat.Len() < 64<<10-12; {
		fmt.Fprintf(&flat, `"%06x":0,`, r.IntN(1<<24))
	}
	flat.WriteString(`"":0}`)
	for range 60 {
		fmt.Fprintf(&deep, `{"z":%q,"b":`, bytes.Repeat([]byte("x"), 1000))
	}
	deep.WriteString("0" + string(bytes.Repeat([]byte(`,"a":0}`), 60)))
	for form.Len() < 64<<10-4 {
		fmt.Fprintf(&form, "%c%c&", 'a'+r.IntN(26), 'a'+r.IntN(26))
	}
	escapes := bytes.Repeat([]byte(`\u00e9`), 10900)
	sets := bytes.Repeat([]byte(`{"a":1},{"b":1},{"c":1},{"d":1},{"e":1},{"f":1},{"g":1},{"h":1},{"i":1},`), 900)
	for _, c := range []struct{ name, media, body string }{
		{"json-shuffled-names", "application/json", flat.String()},
		{"json-deep-unsorted", "application/json", deep.String()},
		{"json-many-elements", "application/json", "[" + string(sets[:len(sets)-1]) + "]"},
		{"json-escapes", "application/json", `"` + string(escapes) + `"`},
		{"form-many-pairs", "application/x-www-form-urlencoded", form.String()},
	} {
		b.Run(c.name, func(b *testing.B) {
			if len(c.body) > 64<<10 {
				b.Fatalf("%d bytes", len(c.body))
			}
			benchmark(b, &fingerprint.Input{Method: "POST", Path: "/", ContentType: c.media, Body: []byte(c.body)})
		})
	}
}

// The floor: the hash alone, and what a JSON parser takes to look at the bytes.
func BenchmarkFloor(b *testing.B) {
	kilo := bytes.Repeat([]byte("0123456789abcdef"), 64)
	b.Run("sha256-1k", func(b *testing.B) {
		b.SetBytes(int64(len(kilo)))
		var s [32]byte
		for b.Loop() {
			s = sha256.Sum256(kilo)
		}
		if s[0] == s[1] && s[1] == s[2] {
			b.Fatal("no sum")
		}
	})
	doc := document()
	b.Run("json.Valid-1k", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if !json.Valid(doc) {
				b.Fatal("invalid")
			}
		}
	})
	b.Run("json.Compact-1k", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		var out bytes.Buffer
		for b.Loop() {
			out.Reset()
			if err := json.Compact(&out, doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkClient(b *testing.B) {
	p, err := fingerprint.New(fingerprint.Key{1}, fingerprint.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if p.Client("192.0.2.17").IsZero() {
			b.Fatal("no fingerprint")
		}
	}
}

func BenchmarkStream64K(b *testing.B) {
	p, err := fingerprint.New(fingerprint.Key{1}, fingerprint.Config{})
	if err != nil {
		b.Fatal(err)
	}
	body := bytes.Repeat([]byte{7}, 64<<10)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		s := p.Stream(bezoar.Fingerprint{1})
		s.Write(body)
		if s.Sum().IsZero() {
			b.Fatal("no sum")
		}
		s.Close()
	}
}
