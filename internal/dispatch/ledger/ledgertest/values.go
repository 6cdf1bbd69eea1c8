package ledgertest

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

func testNotFound(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	putVerdict(t, s, fullVerdict("q-00000000000a", "search"))
	putLetter(t, s, fullLetter("dl-00000000000a", "search", mark(1)))
	// A verdict's id is not a letter's, and ids come from URLs.
	for _, id := range []string{"dl-00000000000A", "q-00000000000a", "", "%", "dl-00000000000a ", "\x00", "\xff", strings.Repeat("x", 5000)} {
		_, err := s.Letter(t.Context(), id)
		wantNotFound(t, "Letter("+id+")", err)
		wantNotFound(t, "DeleteLetter("+id+")", s.DeleteLetter(t.Context(), id))
	}
	for _, id := range []string{"dl-00000000000a", "q-00000000000A", "", "\x00", "\xff", strings.Repeat("x", 5000)} {
		wantNotFound(t, "DeleteVerdict("+id+")", s.DeleteVerdict(t.Context(), id))
	}
	wantVerdicts(t, s, "", fullVerdict("q-00000000000a", "search"))
	wantListed(t, s, ledger.LetterQuery{}, "dl-00000000000a")
}

// testFeatures keeps verdicts about features of requests of any fingerprint, which several may be.
func testFeatures(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	var all []bezoar.Verdict
	for i, id := range []string{"q-00000000000a", "q-00000000000b"} {
		v := fullVerdict(id, "search")
		v.Scope, v.State, v.Fingerprint, v.Variant, v.Client = bezoar.ScopeFeature, bezoar.Laned, bezoar.Fingerprint{}, bezoar.Fingerprint{}, bezoar.Fingerprint{}
		v.Features, v.FeatureHashes, v.Late, v.Pace = []string{"header X-Theme: neon"}, []uint64{uint64(i), math.MaxUint64}, true, 0.25
		putVerdict(t, s, v)
		all = append(all, v)
	}
	wantVerdicts(t, s, "search", all...)
}

func testRefused(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	for name, spoil := range map[string]func(*bezoar.Verdict){
		"no id":            func(v *bezoar.Verdict) { v.ID = "" },
		"long id":          func(v *bezoar.Verdict) { v.ID = strings.Repeat("q", 65) },
		"id with NUL":      func(v *bezoar.Verdict) { v.ID = "q-\x00" },
		"fleet with NUL":   func(v *bezoar.Verdict) { v.Fleet = "a\x00b" },
		"fleet not text":   func(v *bezoar.Verdict) { v.Fleet = "\xff" },
		"long fleet":       func(v *bezoar.Verdict) { v.Fleet = strings.Repeat("f", 256) },
		"nameless class":   func(v *bezoar.Verdict) { v.Cause = 255 },
		"no number":        func(v *bezoar.Verdict) { v.Score = math.NaN() },
		"infinite share":   func(v *bezoar.Verdict) { v.Evidence[0].Others[0].Share = math.Inf(-1) },
		"year 10000":       func(v *bezoar.Verdict) { v.Until = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"year 0":           func(v *bezoar.Verdict) { v.Evidence[1].At = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
		"infinite pace":    func(v *bezoar.Verdict) { v.Pace = math.Inf(1) },
		"infinite side":    func(v *bezoar.Verdict) { v.SidePace = math.Inf(1) },
		"nameless witness": func(v *bezoar.Verdict) { v.Evidence[1].Class = 99 },
	} {
		v := fullVerdict("q-00000000000a", "search")
		spoil(&v)
		if err := s.PutVerdict(t.Context(), v); err == nil {
			t.Errorf("a verdict with %s was kept", name)
		}
	}
	for name, spoil := range map[string]func(*bezoar.Letter){
		"no id":          func(l *bezoar.Letter) { l.ID = "" },
		"no fingerprint": func(l *bezoar.Letter) { l.Fingerprint = bezoar.Fingerprint{} },
		"fleet not text": func(l *bezoar.Letter) { l.Fleet = "\xc3" },
		"nameless class": func(l *bezoar.Letter) { l.Class = 255 },
		"year 10000":     func(l *bezoar.Letter) { l.Last = time.Unix(1<<40, 0) },
	} {
		l := fullLetter("dl-00000000000a", "search", mark(1))
		spoil(&l)
		if _, err := s.PutLetter(t.Context(), l); err == nil {
			t.Errorf("a letter with %s was kept", name)
		}
	}
	wantVerdicts(t, s, "")
	wantListed(t, s, ledger.LetterQuery{})
}

func testEveryField(t *testing.T, h Harness) {
	v, l := fullVerdict("q-00000000000a", "search"), fullLetter("dl-00000000000a", "search", mark(1))
	checkFull(t, "Verdict", reflect.ValueOf(v))
	checkFull(t, "Letter", reflect.ValueOf(l))
	s := h.Open(t, 0)
	putVerdict(t, s, v)
	wantVerdicts(t, s, "search", v)
	putLetter(t, s, l)
	wantLetter(t, s, l)

	// A record with only the required fields, and no fleet, is valid as well.
	bare := bezoar.Verdict{ID: "q-0"}
	putVerdict(t, s, bare)
	wantVerdicts(t, s, "", bare, v)
	empty := bezoar.Letter{ID: "dl-0", Fingerprint: mark(3)}
	putLetter(t, s, empty)
	wantLetter(t, s, empty)
	unknown := bezoar.Letter{ID: "dl-1", Fingerprint: mark(4), Request: bezoar.Request{BodySize: -1}, Copies: math.MaxInt64}
	putLetter(t, s, unknown)
	wantLetter(t, s, unknown)

	// Every class can be stored.
	for c := bezoar.Done; c <= bezoar.SpawnFailed; c++ {
		v.Cause, v.Evidence[0].Class = c, c
		putVerdict(t, s, v)
		wantVerdicts(t, s, "search", v)
	}
}

func testAnyBytes(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	for i, text := range []string{
		"naïve ☃ 𝄞 \u2028 \ufffd", "\xff\xfe\xfd", "cut \xe2\x98", "\xed\xa0\x80", "a\x00b", "\x00", "base64:", "base64:AAA", "base64:!",
		`\u0000 \ " ' ; -- $1 ?1 {schema}`, "\r\n\t\x1b[31m", "<script>&amp;",
	} {
		v := fullVerdict("q-00000000000a", "search")
		v.Route, v.Reason, v.Sample = text, text, text
		v.Scope, v.State = bezoar.Scope(text), bezoar.State(text)
		e := &v.Evidence[0]
		e.Worker, e.Detail, e.Signal, e.Stderr = text, text, text, []string{text, "", text}
		putVerdict(t, s, v)
		wantVerdicts(t, s, "search", v)

		l := fullLetter("dl-"+string(rune('a'+i)), "search", mark(byte(i)))
		l.Route, l.Reason, l.Verdict = text, text, text
		l.Evidence = v.Evidence
		l.Request = bezoar.Request{
			Method: text, Target: text, Host: text, Client: text, Body: []byte(text), BodySize: int64(len(text)),
			Header: map[string][]string{text: {text, text}, "X-" + text: {""}, "": {text}},
		}
		if diff := diff(l, putLetter(t, s, l)); diff != "" {
			t.Fatalf("PutLetter with %q (-want +got)\n%s", text, diff)
		}
		wantLetter(t, s, l)
	}
}

func testBigBodies(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for i, body := range [][]byte{
		{0}, every, bytes.Repeat([]byte{0}, 64<<10), bytes.Repeat(every, 64<<10/256), bytes.Repeat([]byte{0xff, 0}, 512<<10),
	} {
		l := fullLetter("dl-"+string(rune('a'+i)), "search", mark(byte(i)))
		l.Request.Body, l.Request.BodySize = body, int64(len(body))
		if stored := putLetter(t, s, l); !bytes.Equal(stored.Request.Body, body) {
			t.Fatalf("PutLetter changed a body of %d bytes", len(body))
		}
		got, err := s.Letter(t.Context(), l.ID)
		suite.Must(t, err)
		suite.FatalIf(t, !bytes.Equal(got.Request.Body, body), "Letter changed a body of %d bytes", len(body))
	}
}

func testMicroseconds(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	zone := time.FixedZone("somewhere", -7*3600)
	given := time.Date(2026, 7, 8, 9, 10, 11, 987_654_999, zone)
	kept := time.Date(2026, 7, 8, 16, 10, 11, 987_654_000, time.UTC)
	v := bezoar.Verdict{ID: "q-0", Since: given, Until: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)}
	v.Evidence = []bezoar.Evidence{{At: given}}
	putVerdict(t, s, v)
	v.Since, v.Evidence[0].At = kept, kept
	wantVerdicts(t, s, "", v)
	got, err := s.Verdicts(t.Context(), "")
	suite.Must(t, err)
	if loc := got[0].Since.Location(); loc != time.UTC {
		t.Errorf("times come back in %v, want UTC", loc)
	}

	// Times that differ by one microsecond stay different, also before 1970.
	for i, at := range []time.Time{kept, kept.Add(time.Microsecond), time.UnixMicro(-1), time.UnixMicro(0), {}} {
		l := bezoar.Letter{ID: "dl-" + string(rune('a'+i)), Fingerprint: mark(byte(i)), First: at.UTC(), Last: at.UTC()}
		putLetter(t, s, l)
		wantLetter(t, s, l)
	}
	wantListed(t, s, ledger.LetterQuery{}, "dl-b", "dl-a", "dl-d", "dl-c", "dl-e")
}

func testNothingShared(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	v, l := fullVerdict("q-00000000000a", "search"), fullLetter("dl-00000000000a", "search", mark(1))
	putVerdict(t, s, v)
	returned := putLetter(t, s, l)
	again := l
	again.Copies = 0
	merged := putLetter(t, s, again)
	scribble := func(evidence []bezoar.Evidence, requests ...bezoar.Request) {
		evidence[0].Worker, evidence[0].Stderr[0], evidence[0].Others[0].Share = "x", "x", 9
		for _, r := range requests {
			r.Header["Content-Type"][0] = "x"
			r.Header["X-New"] = []string{"x"}
			if len(r.Body) > 0 {
				r.Body[0] = 'x'
			}
		}
	}
	check := func() {
		t.Helper()
		wantVerdicts(t, s, "search", fullVerdict("q-00000000000a", "search"))
		wantLetter(t, s, fullLetter("dl-00000000000a", "search", mark(1)))
	}
	v.Features[0], v.FeatureHashes[0], v.Why[0] = "x", 9, "x"
	scribble(v.Evidence)
	scribble(l.Evidence, l.Request)
	scribble(returned.Evidence, returned.Request)
	scribble(merged.Evidence, merged.Request)
	check()
	verdicts, err := s.Verdicts(t.Context(), "search")
	suite.Must(t, err)
	letters, err := s.Letters(t.Context(), ledger.LetterQuery{})
	suite.Must(t, err)
	whole, err := s.Letter(t.Context(), l.ID)
	suite.Must(t, err)
	verdicts[0].Features[0], verdicts[0].FeatureHashes[0], verdicts[0].Why[0] = "x", 9, "x"
	scribble(verdicts[0].Evidence)
	scribble(letters[0].Evidence, letters[0].Request)
	scribble(whole.Evidence, whole.Request)
	check()
}
