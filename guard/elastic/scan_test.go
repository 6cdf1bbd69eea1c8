package elastic

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func scanned(text string) (*scanner, fault) {
	s := &scanner{maxDepth: 1000, maxNodes: 1 << 20, seed: maphash.MakeSeed()}
	return s, s.scan([]byte(text), 0, len(text))
}

func TestScanRefusesWhatIsNoJSON(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{`, `}`, `[`, `]`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[,1]`, `{,}`, `{a:1}`, `{'a':1}`, `nul`, `nulll`,
		`01`, `-`, `1.`, `.5`, `1e`, `+1`, `0x1`, `NaN`, `Infinity`, `"a`, "\"a\n\"", `"\x"`, `"\u12g4"`, `"\u1`, `1 2`, `{} {}`, `{"a":1 "b":2}`,
		`[1 2]`, `/`, `{}/`, `{}/*`, `/* {} `, `"""a""`, "\xef\xbb{}", `{"a":1}}`, `[[]`, `{"a" 1}`, `tru`, `[true false]`,
	} {
		if _, f := scanned(text); f.reason == noFault {
			t.Errorf("%q was read", text)
		} else if f.at < 0 || f.at > len(text) {
			t.Errorf("%q: the fault is at %d", text, f.at)
		}
	}
}

func TestScanReadsWhatJacksonReads(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `[[]]`, `{"a":{}}`, `-0.5e+3`, `"\u00e9\ud83d\ude00\"\\"`, "\xef\xbb\xbf{}", "// x\n{}", "{/**/}", `{"a"/* c */:/* d */1/* e */,"b":2}`,
		"{}// end", `[1,/*,*/2]`, `{"q":"""raw "text" \n"""}`, ` {"a" : [ 1 , null , true , false ] } `,
	} {
		if _, f := scanned(text); f.reason != noFault {
			t.Errorf("%q: %s at %d", text, f.reason, f.at)
		}
	}
}

func TestScanFindsNamesThatComeTwice(t *testing.T) {
	many := func(last string) string {
		var b strings.Builder
		b.WriteString(`{"a":{`)
		for i := range 200 {
			b.WriteString(`"k` + strings.Repeat("x", i) + `":{"a":1,"b":2},`)
		}
		return b.String() + `"` + last + `":1}}`
	}
	for text, twice := range map[string]bool{
		`{"a":1,"a":2}`: true, `{"a":1,"\u0061":2}`: true, `{"\u0061":1,"a":2}`: true, `{"a":1,"A":2}`: false,
		`{"a":{"a":1},"b":{"a":1}}`: false, `[{"a":1},{"a":1}]`: false, `{"a":1,"b":{"c":1,"c":2}}`: true,
		many("k"): true, many("kxxx"): true, many(`\u006bx`): true, many("z"): false,
	} {
		s, f := scanned(text)
		if f.reason != noFault {
			t.Fatalf("%.40q: %s", text, f.reason)
		}
		if got := s.duplicate >= 0; got != twice {
			t.Errorf("%.40q: twice is %v, want %v", text, got, twice)
		}
	}
}

func TestScanIsBounded(t *testing.T) {
	deep := strings.Repeat("[", 1001) + strings.Repeat("]", 1001)
	if _, f := scanned(deep); !f.deep {
		t.Errorf("1001 levels: %+v", f)
	}
	if _, f := scanned(deep[1 : len(deep)-1]); f.reason != noFault {
		t.Errorf("1000 levels: %+v", f)
	}
	s := &scanner{maxDepth: 10, maxNodes: 100}
	text := []byte("[" + strings.Repeat("1,", 200) + "1]")
	if f := s.scan(text, 0, len(text)); f.reason == noFault {
		t.Error("more values than allowed were read")
	}
}

// The tape of a text says the same as package json.
func TestTapeHoldsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawJSON(t, 0)
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		s, f := scanned(string(text))
		if f.reason != noFault {
			t.Fatalf("%s: %s at %d", text, f.reason, f.at)
		}
		r := Reader{t: &tape{scanner: *s}}
		back, err := json.Marshal(fromTape(&r, 0))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, back) {
			t.Fatalf("%s became %s", text, back)
		}
		if int(s.nodes[0].next) != len(s.nodes) {
			t.Fatalf("the root ends at %d of %d nodes", s.nodes[0].next, len(s.nodes))
		}
	})
}

// The way to the last node helps with the next, whatever the order.
func TestPathsDoNotDependOnTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(drawJSON(t, 0))
		if err != nil {
			t.Fatal(err)
		}
		s, f := scanned(string(text))
		if f.reason != noFault {
			t.Fatal(f.reason)
		}
		r := Reader{t: &tape{scanner: *s}}
		for range 20 {
			n := rapid.IntRange(0, len(s.nodes)-1).Draw(t, "node")
			got := r.path(n)
			r.t.way = nil
			if want := r.path(n); got != want {
				t.Fatalf("node %d of %s is at %s; by a fresh walk %s", n, text, got, want)
			}
			if rapid.Bool().Draw(t, "forget") {
				r.t.way = nil
			}
		}
	})
}

func drawJSON(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 6).Draw(t, "kind"); {
	case kind == 0 && depth < 4:
		m := map[string]any{}
		for range rapid.IntRange(0, 12).Draw(t, "members") {
			m[rapid.String().Draw(t, "name")] = drawJSON(t, depth+1)
		}
		return m
	case kind == 1 && depth < 4:
		list := []any{}
		for range rapid.IntRange(0, 6).Draw(t, "elements") {
			list = append(list, drawJSON(t, depth+1))
		}
		return list
	case kind == 2:
		return nil
	case kind == 3:
		return rapid.Bool().Draw(t, "bool")
	case kind == 4:
		return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
	}
	return rapid.String().Draw(t, "text")
}

func fromTape(r *Reader, n int) any {
	switch r.kind(n) {
	case kindObject:
		m := map[string]any{}
		for k := n + 1; k < r.next(n); k = r.next(k + 1) {
			m[string(r.bytes(k))] = fromTape(r, k+1)
		}
		return m
	case kindArray:
		list := []any{}
		for e := n + 1; e < r.next(n); e = r.next(e) {
			list = append(list, fromTape(r, e))
		}
		return list
	case kindNumber:
		v, _ := r.number(n)
		return v
	case kindTrue:
		return true
	case kindFalse:
		return false
	case kindString:
		return string(r.bytes(n))
	case kindNull:
	}
	return nil
}

// What package json reads is read, but for depth; what is read and uses nothing
// of Jackson's own, package json reads too.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"size":10,"query":{"bool":{"must":[{"term":{"a":1}}]}}}`, `[1,2.5e-3,"\u00e9",null,true]`, "\xef\xbb\xbf{}", `{"a":1,"a":2}`,
		"{/* c */\"a\"// d\n:1}", `{"q":"""x"""}`, `[[[[[`, `"\ud83d\ude00"`, `-0`, `{"a":[{},[],""]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &scanner{maxDepth: 1000, maxNodes: 1 << 20, seed: maphash.MakeSeed()}
		got := s.scan(text, 0, len(text))
		valid := json.Valid(text)
		if valid && got.reason != noFault && !got.deep {
			t.Fatalf("package json reads %q; here: %s at %d", text, got.reason, got.at)
		}
		if got.reason == noFault && !valid && !s.lenient {
			t.Fatalf("%q was read; package json does not read it", text)
		}
	})
}
