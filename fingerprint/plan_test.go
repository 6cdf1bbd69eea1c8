package fingerprint_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/fingerprint"
)

// anyJSON writes a JSON value of few names, so that objects are often nearly alike.
func anyJSON(b *strings.Builder, r *rand.Rand, depth int) {
	names := []string{"a", "b", "ab", "id", "a=", `q\"`, "\u00e9", `\u00e9`, "0123456789abcdef", "x[0]", "long_name_of_more_than_eight_bytes", `\ud800`, ""}
	space := func() { b.WriteString([]string{"", "", "", " ", "\n\t"}[r.IntN(5)]) }
	kind := r.IntN(10)
	if depth == 0 {
		kind = 5 + r.IntN(5)
	}
	switch kind {
	case 0, 1, 2:
		b.WriteByte('{')
		for i := range r.IntN(5) {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			at := r.IntN(len(names))
			if r.IntN(3) > 0 {
				at = i // mostly the same at the same place
			}
			fmt.Fprintf(b, `"%s"`, names[at])
			space()
			b.WriteByte(':')
			space()
			anyJSON(b, r, depth-1)
			space()
		}
		b.WriteByte('}')
	case 3, 4:
		b.WriteByte('[')
		row := r.IntN(2) == 0
		for i := range r.IntN(6) {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			if row {
				anyRow(b, r)
				continue
			}
			anyJSON(b, r, depth-1)
		}
		b.WriteByte(']')
	case 5:
		b.WriteString([]string{"true", "null", "1e+05", "-0", "17", `"\u0041\n"`}[r.IntN(6)])
	case 6:
		b.WriteString(`"x,y=z}"`)
	default:
		fmt.Fprint(b, r.IntN(1000))
	}
}

// anyRow writes an object of plain values, which is nearly like all others of its kind.
func anyRow(b *strings.Builder, r *rand.Rand) {
	values := []string{
		"true", "false", "null", "0", "-0", "12.50", "-17", `""`, `"blue door"`, `"P-00042"`, `"a@b.example"`, `"été"`, `"\u0041"`, `"a\tb"`,
		"\"\x7f\"", "\"\xff\"", "1e5", "1E+05", "01", "1.", "nul", "{}", "[1]", `"open`, `"2026-01-02"`, "1234567",
	}
	space := func() { b.WriteString([]string{"", "", "", "", "", "", "", "", " ", "\n"}[r.IntN(10)]) }
	b.WriteByte('{')
	names := [][]string{{"sku", "count", "note"}, {"a", "b", "c"}, {"note", "sku", "count", "a"}}[max(0, r.IntN(8)-5)]
	for i, name := range names {
		if i > 0 {
			space()
			b.WriteByte(',')
		}
		space()
		fmt.Fprintf(b, "%q:", name)
		space()
		if r.IntN(8) > 0 {
			b.WriteString(values[5+i])
		} else {
			b.WriteString(values[r.IntN(len(values))])
		}
		space()
	}
	b.WriteByte('}')
}

// What a Printer remembers of earlier requests changes nothing: of any request it says
// what one says that has seen none.
func TestEarlierRequestsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, cfg := range []fingerprint.Config{{}, {Ignore: []string{"json:$.a.b", "json:$[*].id"}}} {
		p, err := fingerprint.New(fingerprint.Key{1}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 1500 {
			var b strings.Builder
			anyJSON(&b, r, 4)
			body := b.String()
			if r.IntN(10) == 0 {
				body = body[:r.IntN(len(body)+1)] // broken off
			}
			in := &fingerprint.Input{Method: "POST", Path: "/", ContentType: "application/json", Body: []byte(body), Complete: true}
			fresh, err := fingerprint.New(fingerprint.Key{1}, cfg)
			if err != nil {
				t.Fatal(err)
			}
			work, shape := p.Work(in)
			w, s := fresh.Work(in)
			if work != w || shape != s || p.Skeleton(in) != fresh.Skeleton(in) {
				t.Fatalf("%s\n%s\n%s", body, p.Skeleton(in), fresh.Skeleton(in))
			}
		}
	}
}
