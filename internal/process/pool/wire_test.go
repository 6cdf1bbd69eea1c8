package pool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/process/child"
)

func TestMessageLine(t *testing.T) {
	j := child.Job{Stdin: []byte("a\"b\\\n\x7f\u0085\u2029é"), Message: child.Message{Receives: 2, Group: "g", Attributes: map[string]string{"z": "1", "a": "\xff"}}}
	got := string(appendMessage(nil, "m1", &j, time.UnixMilli(1700000000123)))
	want := `{"bezoar":1,"id":"m1","body":"a\"b\\\n\u007f\u0085\u2029é","receives":2,"attributes":{"a":"\ufffd","z":"1"},"group":"g","deadline_ms":1700000000123}` + "\n"
	if got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	got = string(appendMessage(nil, "m1", &child.Job{Stdin: []byte{0xff}}, time.Time{}))
	if want := `{"bezoar":1,"id":"m1","body_base64":"/w==","receives":0,"attributes":{}}` + "\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// Whatever a message holds, it is one line in everybody's eyes, and comes back
// out of it.
func TestMessageLineProperty(t *testing.T) {
	text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\"\\\n\r\u0085\u2028\x00"))))
	rapid.Check(t, func(t *rapid.T) {
		j := child.Job{Message: child.Message{
			Receives: rapid.Int().Draw(t, "receives"), Group: text.Draw(t, "group"),
			Attributes: rapid.MapOf(text, text).Draw(t, "attributes"),
		}}
		if rapid.Bool().Draw(t, "text") {
			j.Stdin = []byte(text.Draw(t, "body"))
		} else {
			j.Stdin = rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		}
		id := text.Draw(t, "id")
		checkLine(t, id, &j)
	})
}

func checkLine(t interface{ Fatalf(string, ...any) }, id string, j *child.Job) {
	line := appendMessage([]byte("before"), id, j, time.Time{})[len("before"):]
	if n := strings.IndexFunc(string(line), func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' }); n != len(line)-1 || !utf8.Valid(line) {
		t.Fatalf("not one line: %q", line)
	}
	var m struct {
		ID         string
		Body       *string
		Base64     []byte `json:"body_base64"`
		Receives   int
		Group      string
		Attributes map[string]string
	}
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	body := m.Base64
	if m.Body != nil {
		body = []byte(*m.Body)
	}
	if (m.Body != nil) != utf8.Valid(j.Stdin) || !bytes.Equal(body, j.Stdin) {
		t.Fatalf("%q: the body was %q", line, j.Stdin)
	}
	valid := func(s string) string { return string([]rune(s)) } // as encoding/json mends it
	attributes := map[string]string{}
	for k, v := range j.Message.Attributes {
		attributes[valid(k)] = valid(v)
	}
	if m.ID != valid(id) || m.Group != valid(j.Message.Group) || m.Receives != j.Message.Receives || len(attributes) == len(j.Message.Attributes) && !maps.Equal(m.Attributes, attributes) {
		t.Fatalf("%q: was %q, %+v", line, id, j.Message)
	}
}

func FuzzMessageLine(f *testing.F) {
	f.Add("m1", []byte("body\n"), "group", "name", "value")
	f.Add("\xff", []byte("\xff\u2028"), "\u0085", "", "\x00")
	f.Fuzz(func(t *testing.T, id string, body []byte, group, name, value string) {
		checkLine(t, id, &child.Job{Stdin: body, Message: child.Message{Group: group, Attributes: map[string]string{name: value}}})
	})
}

// A program that writes what it reads has done nothing.
func TestAnEchoIsNoAnswer(t *testing.T) {
	j := child.Job{Stdin: []byte("body"), Message: child.Message{Receives: 1}}
	line := bytes.TrimSpace(appendMessage(nil, "m1", &j, time.Time{}))
	if s := parseLine(line); s.kind != garbled || s.id != "" || !errors.Is(s.err, errEcho) {
		t.Errorf("%s is %+v", line, s)
	}
	meant := append(bytes.TrimSuffix(bytes.Clone(line), []byte("}")), `,"class":"done"}`...)
	if s := parseLine(meant); s.kind != answered || s.id != "m1" {
		t.Errorf("%s is %+v", meant, s)
	}
}

func FuzzParseLine(f *testing.F) {
	for _, seed := range []string{
		`{"bezoar":1}`, `{"bezoar":1,"id":"m1"}`, `x{"bezoar":1,"id":"m1","class":"bug","rows":[1,{"index":2}]}`, `{"bezoar":1,"id":1}`,
		`{"bezoar":`, `{"a":{"bezoar":1},"id":""}`, `{"bezoar":-1}`, `{"bezoar":1,"id":"m1","class":"banana"}`, `["bezoar"]`, " \"bezoar\" ", `{"bezoar":null,"id":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		s := parseLine(line)
		if !bytes.Equal(line, before) {
			t.Fatalf("the line was changed: %q", before)
		}
		if again := parseLine(line); !reflect.DeepEqual(fmt.Sprintf("%+v", again.err), fmt.Sprintf("%+v", s.err)) || again.kind != s.kind || again.id != s.id {
			t.Fatalf("%q: %+v, then %+v", line, s, again)
		}
		switch s.kind {
		case output, greeted:
			if s.id != "" || s.report != nil || s.err != nil {
				t.Fatalf("%q: %+v", line, s)
			}
		case garbled:
			if s.err == nil || s.report != nil {
				t.Fatalf("%q: %+v", line, s)
			}
		case answered:
			if s.report == nil { // read the quick way
				o := parseObject(bytes.TrimSpace(line))
				if o.kind != answered || o.id != s.id || fmt.Sprintf("%+v", *o.report) != fmt.Sprintf("%+v", child.Report{}) {
					t.Fatalf("%q: %+v the quick way, else %+v", line, s, o)
				}
				s = o
			}
			if s.err != nil || s.report == nil {
				t.Fatalf("%q: %+v", line, s)
			}
			// The same at the end of a print, as a member-wise equal object that
			// begins with our key.
			b, err := json.Marshal(s.report)
			if err != nil {
				t.Fatal(err)
			}
			id, _ := json.Marshal(s.id)
			mine := append(fmt.Appendf(nil, `print{"bezoar":1,"id":%s,"report":`, id), append(b, '}')...)
			if p := parseLine(mine); p.kind != answered || p.id != s.id {
				t.Fatalf("%q: %+v", mine, p)
			}
		}
		// It is found in a stream just as by itself.
		if bytes.IndexByte(line, '\n') < 0 && len(line) <= MaxAnswer {
			stream := append(append([]byte("first\n"), line...), "\nlast"...)
			var kinds []kind
			var raw []byte
			hearLines(bytes.NewReader(stream), func(s said, b []byte) { kinds, raw = append(kinds, s.kind), append(raw, b...) }, func() {})
			if !bytes.Equal(raw, stream) || len(kinds) != 3 || kinds[0] != output || kinds[1] != s.kind || kinds[2] != output {
				t.Fatalf("%q: %v, %q", line, kinds, raw)
			}
		}
	})
}

// Lines come whole whatever the pieces in which they are read, and long ones in
// bounded memory.
func TestHearLines(t *testing.T) {
	long := strings.Repeat("y", 5*MaxAnswer)
	stream := long + "\n" + `{"bezoar":1,"id":"m1"}` + "\n" + `{"bezoar":1,"reason":"` + long + "\"}\n" + `{"bezoar":1,"id":"m2"}` // without an end
	var kinds []kind
	most := 0
	hearLines(oneByte{strings.NewReader(stream)}, func(s said, raw []byte) {
		if s.kind != output {
			kinds = append(kinds, s.kind)
		}
		most = max(most, len(raw))
	}, func() {})
	if !slices.Equal(kinds, []kind{answered, garbled}) || most > MaxAnswer+2 {
		t.Errorf("kinds %v, pieces of up to %d bytes", kinds, most)
	}
	exact := fmt.Sprintf(`{"bezoar":1,"id":"m1","reason":"","more":"%s"}`, strings.Repeat("x", MaxAnswer-len(`{"bezoar":1,"id":"m1","reason":"","more":""}`)))
	for more, want := range []kind{answered, garbled} {
		line := strings.Replace(exact, "xx", strings.Repeat("x", 2+more), 1) + "\r\n"
		hearLines(strings.NewReader(line), func(s said, raw []byte) {
			if s.kind != want && len(raw) == len(line) {
				t.Errorf("%d bytes: %v, want %v", len(line)-2, s, want)
			}
		}, func() {})
	}
}

// Nobody looks at an answer before what came together with it was heard: a second
// answer, which came too early, would be taken for that to the next message.
func TestLinesThatComeTogetherAreHeardTogether(t *testing.T) {
	answer := `{"bezoar":1,"id":"m1"}` + "\n"
	for _, c := range []struct {
		in   io.Reader
		want []int // lines that were heard, each time somebody looks
	}{
		{strings.NewReader(answer + answer + "end"), []int{2, 3}},
		{oneByte{strings.NewReader(answer + answer)}, []int{1, 2, 3}}, // the last one is empty
	} {
		told, looks := 0, []int(nil)
		hearLines(c.in, func(said, []byte) { told++ }, func() { looks = append(looks, told) })
		if !slices.Equal(looks, c.want) {
			t.Errorf("looked after %v lines, want %v", looks, c.want)
		}
	}
}

type oneByte struct{ r *strings.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.r.Read(b[:min(1, len(b))]) }

func BenchmarkMessageLine(b *testing.B) {
	j := child.Job{Stdin: []byte(`{"report": 7, "for": "` + strings.Repeat("x", 1000) + `"}`), Message: child.Message{ID: "0123456789abcdef", Receives: 1}}
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = appendMessage(line[:0], j.Message.ID, &j, time.UnixMilli(1))
	}
}

func BenchmarkParseLine(b *testing.B) {
	line := []byte(`{"bezoar":1,"id":"0123456789abcdef"}`)
	b.ReportAllocs()
	for b.Loop() {
		if parseLine(line).kind != answered {
			b.Fatal("not an answer")
		}
	}
}
