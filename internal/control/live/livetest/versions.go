package livetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

func testVersions(t *testing.T, h Harness) {
	s := h.Open(t)
	for _, number := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		_, err := s.Version(t.Context(), number)
		wantErr(t, fmt.Sprintf("Version(%d) of an empty store", number), err, live.ErrNotFound)
	}
	want(t, "the empty history", []live.Version(nil), history(t, s, 10))

	one, two := put(t, s, 0, "a: 1\n"), put(t, s, 1, "a: 2\n")
	sample := version("a: 1\n")
	sample.Number, sample.At = 1, one.At
	want(t, "the first version", sample, one)
	suite.ErrorIf(t, one.At.Location() != time.UTC || !one.At.Equal(one.At.Truncate(time.Microsecond)) || one.At.IsZero(), "its time is %v", one.At)
	want(t, "the history", []live.Version{bare(two), bare(one)}, history(t, s, 10))
	want(t, "the newest of it", []live.Version{bare(two)}, history(t, s, 1))
	for number, v := range map[int64]live.Version{0: two, 1: one, 2: two} {
		got, err := s.Version(t.Context(), number)
		suite.Must(t, err)
		want(t, fmt.Sprintf("Version(%d)", number), v, got)
	}
	// The same text again is another version: the store does not judge texts.
	if v := put(t, s, 2, "a: 2\n"); v.Number != 3 {
		t.Errorf("the third version has number %d", v.Number)
	}
}

func testCompareAndSwap(t *testing.T, h Harness) {
	s := h.Open(t)
	refuse := func(base int64) {
		t.Helper()
		before, revisions := history(t, s, live.KeepVersions), revision(t, s)
		_, err := s.PutVersion(t.Context(), base, version("b"))
		wantErr(t, fmt.Sprintf("PutVersion on %d", base), err, live.ErrConflict)
		want(t, "the history after it", before, history(t, s, live.KeepVersions))
		want(t, "the revision after it", revisions, revision(t, s))
	}
	refuse(1)
	refuse(-1)
	put(t, s, 0, "a")
	refuse(0)
	refuse(2)
	put(t, s, 1, "a")
	refuse(1)
	refuse(math.MaxInt64)
	refuse(math.MinInt64)
}

func testVersionsBounded(t *testing.T, h Harness) {
	s := h.Open(t)
	const beyond = 3
	for i := range int64(live.KeepVersions + beyond) {
		put(t, s, i, fmt.Sprint("n: ", i))
	}
	found := history(t, s, live.KeepVersions)
	if len(found) != live.KeepVersions || found[0].Number != live.KeepVersions+beyond || found[len(found)-1].Number != beyond+1 {
		t.Fatalf("%d versions are kept, %d to %d", len(found), found[len(found)-1].Number, found[0].Number)
	}
	_, err := s.Version(t.Context(), beyond)
	wantErr(t, "the last one beyond the bound", err, live.ErrNotFound)
	if v, err := s.Version(t.Context(), beyond+1); err != nil || string(v.Text) != fmt.Sprint("n: ", beyond) {
		t.Errorf("the oldest that is kept: %+v, %v", v, err)
	}
	for _, limit := range []int{0, -1, live.MaxVersions + 1} {
		if _, err := s.Versions(t.Context(), limit); err == nil {
			t.Errorf("a limit of %d was accepted", limit)
		}
	}
}

// The file's newest version survives any number of versions from other sources.
func testFileVersionStays(t *testing.T, h Harness) {
	s := h.Open(t)
	n := int64(0)
	from := func(source string) {
		t.Helper()
		v := version(fmt.Sprint("n: ", n))
		v.Source = source
		if _, err := s.PutVersion(t.Context(), n, v); err != nil {
			t.Fatal(err)
		}
		n++
	}
	oldest := func(number int64, source string, all int) {
		t.Helper()
		found := history(t, s, live.MaxVersions)
		if last := found[len(found)-1]; len(found) != all || last.Number != number || last.Source != source {
			t.Errorf("of %d versions %d are listed; the oldest is %+v", n, len(found), last)
		}
	}
	from(live.FromFile)
	from(live.FromFile)
	for range live.KeepVersions + 10 {
		from(live.FromAPI)
	}
	oldest(2, live.FromFile, live.MaxVersions)
	if v, err := s.Version(t.Context(), 2); err != nil || string(v.Text) != "n: 1" {
		t.Errorf("its text: %q, %v", v.Text, err)
	}
	from(live.FromFile)
	oldest(n-live.KeepVersions+1, live.FromAPI, live.KeepVersions)
}

func testVersionsRefused(t *testing.T, h Harness) {
	s := h.Open(t)
	for name, spoil := range map[string]func(*live.Version){
		"no sum":         func(v *live.Version) { v.Sum = "" },
		"another's sum":  func(v *live.Version) { v.Sum = live.Sum([]byte("b")) },
		"nobody":         func(v *live.Version) { v.By = "" },
		"long by":        func(v *live.Version) { v.By = strings.Repeat("x", 256) },
		"by with a NUL":  func(v *live.Version) { v.By = "a\x00b" },
		"no Unicode":     func(v *live.Version) { v.Note = "\xff" },
		"long note":      func(v *live.Version) { v.Note = strings.Repeat("x", 1001) },
		"from elsewhere": func(v *live.Version) { v.Source = "heaven" },
		"long text":      func(v *live.Version) { v.Text = make([]byte, live.MaxText+1); v.Sum = live.Sum(v.Text) },
	} {
		v := version("a")
		spoil(&v)
		if _, err := s.PutVersion(t.Context(), 0, v); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	want(t, "the history", []live.Version(nil), history(t, s, 1))
	want(t, "the revision", int64(0), revision(t, s))
}

func testAnyBytes(t *testing.T, h Harness) {
	s := h.Open(t)
	long := bytes.Repeat([]byte("0123456789abcdef"), live.MaxText/16)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, text := range [][]byte{nil, {}, {0}, all, []byte(`'"\$1?{schema}`), long} {
		put(t, s, int64(i), string(text))
		v, err := s.Version(t.Context(), 0)
		suite.ErrorIf(t, err != nil || !bytes.Equal(v.Text, text) || v.Sum != live.Sum(text), "text %d came back as %.40q, %s, %v", i, v.Text, v.Sum, err)
	}
}

func testNothingShared(t *testing.T, h Harness) {
	s := h.Open(t)
	in := version("abc")
	out, err := s.PutVersion(t.Context(), 0, in)
	suite.Must(t, err)
	in.Text[0], out.Text[1] = 'x', 'x'
	got, err := s.Version(t.Context(), 1)
	suite.Must(t, err)
	got.Text[2] = 'x'
	if got, err = s.Version(t.Context(), 1); err != nil || string(got.Text) != "abc" {
		t.Errorf("the text is %q, %v", got.Text, err)
	}
}

// Of several concurrent puts with the same base, one succeeds.
func testManyPuts(t *testing.T, h Harness) {
	s := h.Open(t)
	const writers, each = 6, 5
	var mu sync.Mutex
	var numbers []int64
	suite.Together(t, writers, func(w int) error {
		for i := 0; i < each; {
			base := int64(0)
			switch v, err := s.Version(t.Context(), 0); {
			case err == nil:
				base = v.Number
			case !errors.Is(err, live.ErrNotFound):
				return err
			}
			v, err := s.PutVersion(t.Context(), base, version(fmt.Sprint(w, i)))
			if errors.Is(err, live.ErrConflict) {
				continue
			}
			if err != nil {
				return err
			}
			mu.Lock()
			numbers = append(numbers, v.Number)
			mu.Unlock()
			i++
		}
		return nil
	})
	slices.Sort(numbers)
	for i, n := range numbers {
		suite.FatalIf(t, n != int64(i+1), "the numbers given are %v", numbers)
	}
	found := history(t, s, live.KeepVersions)
	if len(found) != writers*each || found[0].Number != writers*each {
		t.Errorf("%d versions are there, the newest %d", len(found), found[0].Number)
	}
	if r := revision(t, s); r < writers*each {
		t.Errorf("the revision is %d after %d changes", r, writers*each)
	}
}
