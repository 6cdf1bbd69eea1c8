package record_test

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// fill sets every field below v to something of its own, strings to bytes that
// neither JSON nor PostgreSQL can hold. A field added to the root types is
// covered the day it is added.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.UnixMicro(1_700_000_000_123_456 + int64(*n)).UTC()
		return
	case *bezoar.Class:
		*x = bezoar.OOM
		return
	case *bezoar.Fingerprint:
		x[0], x[15] = byte(*n), 0xff
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("\xff\x00%d", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(math.MaxUint64 - uint64(*n))
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.Float64:
		v.SetFloat(1 / float64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field, n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, n)
		fill(t, value, n)
		v.SetMapIndex(key, value)
	default:
		t.Fatalf("fill does not know %s", v.Type())
	}
}

func filledVerdict(t *testing.T) bezoar.Verdict {
	var v bezoar.Verdict
	n := 0
	fill(t, reflect.ValueOf(&v).Elem(), &n)
	v.ID, v.Fleet = "q-0123456789ab", "search"
	return v
}

func filledLetter(t *testing.T) bezoar.Letter {
	var l bezoar.Letter
	n := 0
	fill(t, reflect.ValueOf(&l).Elem(), &n)
	l.ID, l.Fleet = "dl-0123456789ab", "search"
	return l
}

func TestEveryFieldOfAVerdictComesBack(t *testing.T) {
	want := filledVerdict(t)
	kept, err := record.Verdict(want)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := record.EncodeVerdict(kept)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(doc, `\u0000`) || strings.Contains(doc, `\ufffd`) {
		t.Errorf("the text holds what a database refuses or JSON replaced: %s", doc)
	}
	got, err := record.DecodeVerdict(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-put +got)\n%s", diff)
	}
}

func TestEveryFieldOfALetterComesBack(t *testing.T) {
	want := filledLetter(t)
	kept, err := record.Letter(want)
	if err != nil {
		t.Fatal(err)
	}
	text, err := record.EncodeLetter(kept)
	if err != nil {
		t.Fatal(err)
	}
	got, err := record.DecodeLetter(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-put +got)\n%s", diff)
	}
}

// What is on disk outlives the binary that wrote it: fields may join this
// file, but what it holds must stay readable.
func TestStoredFormIsStable(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 890_123_000, time.UTC)
	evidence := []bezoar.Evidence{{
		Worker: "search-3", Epoch: 7, At: at, Class: bezoar.Crash, Detail: "signal: segmentation fault", ExitCode: -1,
		Signal: "SIGSEGV", Stderr: []string{"fatal: \xff"}, Lane: true, InFlight: 1, Share: 1,
		Others: []bezoar.Suspect{{Fingerprint: bezoar.Fingerprint{3}, Share: 0.25}},
	}}
	verdict := bezoar.Verdict{
		ID: "q-0123456789ab", Scope: bezoar.ScopeWork, State: bezoar.Quarantined, Fingerprint: bezoar.Fingerprint{1},
		Shape: bezoar.Fingerprint{2}, Fleet: "search", Route: "/search", Cause: bezoar.Crash, Reason: "killed <2> & more",
		Sample: "base64:looks marked", Score: 1.5, Level: 2, Since: at, Until: at.Add(time.Minute), Refused: 9, Manual: true,
		Evidence: evidence,
	}
	letter := bezoar.Letter{
		ID: "dl-0123456789ab", Fingerprint: bezoar.Fingerprint{1}, Shape: bezoar.Fingerprint{2}, Verdict: "q-0123456789ab",
		Fleet: "search", Route: "/search", Class: bezoar.Crash, Reason: "why", First: at, Last: at.Add(time.Second),
		Evidence: evidence,
		Request: bezoar.Request{
			Method: "POST", Target: "/search?q=\xfe", Host: "h", Header: map[string][]string{"X-A": {"é", "\xff"}, "X-B": {""}},
			BodySize: 70_000, Truncated: true, Client: "192.0.2.1",
		},
	}
	doc, err := record.EncodeVerdict(verdict)
	if err != nil {
		t.Fatal(err)
	}
	text, err := record.EncodeLetter(letter)
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/stored.golden")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join([]string{doc, text.Kept, text.Found, ""}, "\n"); got != string(golden) {
		t.Errorf("stored form changed; data already on disk has the old one\ngot:\n%s\nwant:\n%s", got, golden)
	}
	lines := strings.Split(string(golden), "\n")
	gotVerdict, err := record.DecodeVerdict(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	gotLetter, err := record.DecodeLetter(record.LetterText{Kept: lines[1], Found: lines[2]})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(verdict, gotVerdict) + cmp.Diff(letter, gotLetter); diff != "" {
		t.Errorf("(-written +read)\n%s", diff)
	}
}

func TestCanonicalFormSharesNothing(t *testing.T) {
	v, l := filledVerdict(t), filledLetter(t)
	keptV, err := record.Verdict(v)
	if err != nil {
		t.Fatal(err)
	}
	keptL, err := record.Letter(l)
	if err != nil {
		t.Fatal(err)
	}
	v.Evidence[0].Stderr[0] = "changed"
	v.Evidence[0].Others[0].Share = 99
	l.Request.Body[0]++
	for name := range l.Request.Header {
		l.Request.Header[name][0] = "changed"
	}
	if diff := cmp.Diff(filledVerdict(t), keptV); diff != "" {
		t.Errorf("verdict follows its caller: %s", diff)
	}
	if diff := cmp.Diff(filledLetter(t), keptL); diff != "" {
		t.Errorf("letter follows its caller: %s", diff)
	}
}

func TestTimesAreCanonical(t *testing.T) {
	v := bezoar.Verdict{ID: "q-1", Since: time.Date(2026, 1, 2, 3, 4, 5, 123_456_789, time.FixedZone("", 3600))}
	got, err := record.Verdict(v)
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 1, 2, 2, 4, 5, 123_456_000, time.UTC); got.Since != want {
		t.Errorf("since = %v, want %v", got.Since, want)
	}
	if !got.Until.IsZero() {
		t.Errorf("until = %v, want the zero time as given", got.Until)
	}
}

func TestRefused(t *testing.T) {
	fp := bezoar.Fingerprint{1}
	for _, c := range []struct {
		name string
		put  func() error
		say  []string
	}{
		{"everything at once", func() error {
			_, err := record.Verdict(bezoar.Verdict{
				Score: math.NaN(), Until: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), Cause: 200, Fleet: "\xff",
				Evidence: []bezoar.Evidence{{Share: math.Inf(1)}},
			})
			return err
		}, []string{"ID", "score", "until", "class(200)", "fleet", "evidence[0].share"}},
		{"id with a space", func() error { _, err := record.Verdict(bezoar.Verdict{ID: "a b"}); return err }, []string{`"a b"`}},
		{"long id", func() error {
			_, err := record.Verdict(bezoar.Verdict{ID: strings.Repeat("a", 65)})
			return err
		}, []string{"ID"}},
		{"letter without fingerprint", func() error { _, err := record.Letter(bezoar.Letter{ID: "dl-1"}); return err }, []string{"dl-1", "fingerprint"}},
		{"letter of NUL fleet", func() error {
			_, err := record.Letter(bezoar.Letter{ID: "dl-1", Fingerprint: fp, Fleet: "a\x00"})
			return err
		}, []string{"fleet"}},
		{"limit above", func() error { _, err := record.Query(ledger.LetterQuery{Limit: 1001}); return err }, []string{"1001"}},
		{"limit below", func() error { _, err := record.Query(ledger.LetterQuery{Limit: -1}); return err }, []string{"-1"}},
		{"offset below", func() error { _, err := record.Query(ledger.LetterQuery{Offset: -2}); return err }, []string{"-2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.put()
			if err == nil {
				t.Fatal("accepted")
			}
			for _, say := range c.say {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("%q does not mention %q", err, say)
				}
			}
		})
	}
}

func FuzzVerdictText(f *testing.F) {
	for _, s := range []string{"", "plain", "base64:", "base64:!", "\x00", "\xff\xfe", "é \u2028 <&>", "base64:/w=="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := bezoar.Verdict{ID: "q-1", Reason: s, Evidence: []bezoar.Evidence{{Stderr: []string{s}}}}
		doc, err := record.EncodeVerdict(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := record.DecodeVerdict(doc)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, got); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"id":"q-1","reason":"base64:!"}`, `{"class":"oom"}`)
	f.Add(`{"class":"nonsense"}`, `{"last":"yesterday"}`)
	f.Fuzz(func(t *testing.T, kept, found string) {
		if v, err := record.DecodeVerdict(kept); err == nil {
			if _, err := record.EncodeVerdict(v); err != nil {
				t.Errorf("read a verdict that cannot be written: %v", err)
			}
		}
		if _, err := record.DecodeLetter(record.LetterText{Kept: kept, Found: found}); err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
	})
}
