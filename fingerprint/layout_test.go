package fingerprint

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/test/bodies"
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

// anyBody writes a document of one kind or another.
func anyBody(r *rand.Rand) (media, body string) {
	var b strings.Builder
	media = "application/json"
	switch r.IntN(10) {
	case 0, 1, 2:
		b.Write(bodies.Make(r, 700+r.IntN(3000)))
	case 3, 4:
		media = "application/x-ndjson"
		for range r.IntN(6) {
			anyRow(&b, r)
			b.WriteString([]string{"\n", "\n", "\r\n", "\n\n ", " "}[r.IntN(5)])
		}
	case 5:
		wideObject(&b, r)
	default:
		anyJSON(&b, r, 4)
	}
	if body = b.String(); r.IntN(10) == 0 {
		body = body[:r.IntN(len(body)+1)] // broken off
	}
	return media, body
}

// wideObject writes an object whose number of members is near a bound.
func wideObject(b *strings.Builder, r *rand.Rand) {
	b.WriteByte('{')
	for i := range []int{3, 63, 64, 65, 1023, 1024, 1025, 1030}[r.IntN(8)] {
		if i > 0 {
			b.WriteByte(',')
		}
		name := fmt.Sprintf("k%c%s", 'a'+i%26, strings.Repeat("z", i/26))
		if r.IntN(50) == 0 {
			name = fmt.Sprintf("%x", r.IntN(1<<24))
		}
		fmt.Fprintf(b, "%q:%s", name, []string{"1", `{"a":1}`, `"x"`, "[1, 2]", " null"}[r.IntN(5)])
	}
	b.WriteByte('}')
}

// without is a scratch that remembers no layouts.
func without() *scratch {
	s := new(scratch)
	s.layouts.debt = math.MaxInt
	return s
}

// What a scratch remembers of earlier documents, and of earlier objects of the same one, changes nothing: of any request it
// says what one says that remembers nothing.
func TestLayoutsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, cfg := range []Config{{}, {Ignore: []string{"json:$.a.b", "json:$[*].id", "json:$.items[*].sku", "json:$.batch[*].context.screen"}}} {
		p, err := New(Key{1}, cfg)
		if err != nil {
			t.Fatal(err)
		}
		used, known := new(scratch), 0
		for range 1500 {
			media, body := anyBody(r)
			in := &Input{Method: "POST", Path: "/", ContentType: media, Body: []byte(body), Complete: true}
			fresh := without()
			fresh.run(p, in)
			used.run(p, in)
			if !bytes.Equal(used.buf, fresh.buf) || !bytes.Equal(used.skel, fresh.skel) {
				t.Fatalf("of\n%s\na used scratch says\n%q\n%s\nand one without layouts\n%q\n%s", body, used.buf, used.skel, fresh.buf, fresh.skel)
			}
			if len(fresh.layouts.all) > rootLayouts+1 {
				t.Fatal("the premise: it has learned layouts")
			}
		}
		for _, l := range used.layouts.all {
			if l.order != nil {
				known++
			}
		}
		if known < 20 {
			t.Errorf("it knows the order of %d layouts: this tests nothing", known)
		}
	}
}

// A flood of objects that are all different takes bounded memory, and what comes regularly is learned again after it.
func TestAFloodOfLayouts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	s := new(scratch)
	read := func(body string) {
		s.buf, s.skel = s.buf[:0], s.skel[:0]
		if !s.json([]byte(body), nil) {
			t.Fatalf("not read: %s", body)
		}
	}
	most := 0
	for i := range 30000 {
		read(fmt.Sprintf(`{"%x":{"%x":1,"b":2},"%x":[{"%x":0}]}`, r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()))
		if i%10 == 0 {
			var wide strings.Builder // each of its beginnings is an object, too
			wide.WriteString("[{")
			for j := range 1 + i/10%60 {
				fmt.Fprintf(&wide, "%q:%d,", fmt.Sprintf("%s%d", strings.Repeat("long_name_", 3), j), r.IntN(1e9))
			}
			read(wide.String()[:wide.Len()-1] + "}]")
			read(string(bodies.Make(r, 700))) // earns the right to learn more
		}
		most = max(most, len(s.layouts.all))
		taken := cap(s.layouts.arena)
		for j := range s.layouts.all {
			if o := s.layouts.all[j].order; o != nil {
				taken += cap(o.sorted) + cap(o.shaped) + cap(o.names) + 4*cap(o.ends) + 2*cap(o.sigs) + cap(o.plain)
			}
		}
		if len(s.layouts.all) > maxLayouts || taken > 2*maxLayoutBytes { // slices have up to twice the room
			t.Fatalf("%d layouts and %d bytes", len(s.layouts.all), taken)
		}
	}
	if most < maxLayouts/2 {
		t.Errorf("at most %d layouts: this tests nothing", most)
	}
	const regular = `{"one":1,"two":{"three":3,"four":[{"five":5,"six":6}]}}`
	for range 300 {
		read(regular)
	}
	at := s.layouts.begin(nil)
	for _, name := range []string{`"one":`, `"two":`} {
		end, to := s.follow([]byte(name), 0, at)
		if end == 0 {
			t.Fatalf("%s is not learned", name)
		}
		at = to
	}
	if s.layouts.all[at].order == nil {
		t.Error("the order of the regular object is not known")
	}
}
