package sift

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whatever is bad: exactly that is set aside, the rest is finished once, within
// the bound; or it is said that it is the command, and then all that was tried
// alone was bad.
func TestEveryRowEndsInOneWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "rows")
		w := &world{rows: n, bad: map[int]string{}}
		most := rapid.SampledFrom([]int{0, 1, 2, 5, n / 4, n}).Draw(t, "at most bad")
		for range rapid.IntRange(0, most).Draw(t, "bad") {
			w.bad[rapid.IntRange(0, n-1).Draw(t, "row")] = rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "failure")
		}
		blame := rapid.Bool().Draw(t, "blame")
		parallel := rapid.SampledFrom([]int{1, 1, 4}).Draw(t, "parallel")
		batch := rapid.SampledFrom([]int{0, 1, 3, 50, n}).Draw(t, "batch")
		sum, err := w.sift(t, func(c *Config) { c.Batch, c.Parallel, c.Blame = batch, parallel, blame })
		if command, ok := errors.AsType[*CommandError](err); ok {
			if blame || command.Empty {
				t.Errorf("%v: %v", w, err)
			}
			for _, row := range command.Tried {
				if _, bad := w.bad[row]; !bad {
					t.Errorf("%v: row %d is good", w, row)
				}
			}
			for row := range w.letters { // of before
				if _, bad := w.bad[row]; !bad {
					t.Errorf("%v: row %d was set aside", w, row)
				}
			}
			return
		}
		if err != nil {
			t.Fatalf("%v: %v", w, err)
		}
		w.settled(t)
		k := len(w.bad)
		if most := Bound(n, k) + float64(Overhead(k, sum.Batches)); float64(sum.Runs) > most {
			t.Errorf("%v: %d runs in %d batches, more than %.1f: %v", w, sum.Runs, sum.Batches, most, w.runs)
		}
		if sum.Done+sum.Letters != n || sum.Letters != k {
			t.Errorf("%v: %+v", w, sum)
		}
	})
}

// What only fails together blames no row.
func TestNoInnocentIsSetAside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 300).Draw(t, "rows")
		w := &world{rows: n, bad: map[int]string{}, limit: rapid.SampledFrom([]int{0, 0, 1, 7, 60}).Draw(t, "limit")}
		row := rapid.IntRange(0, n-1)
		for range rapid.IntRange(0, 3).Draw(t, "pairs") {
			if a, b := row.Draw(t, "a"), row.Draw(t, "b"); a != b {
				w.pairs = append(w.pairs, [2]int{a, b})
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "bad") {
			w.bad[row.Draw(t, "bad")] = "a"
		}
		_, err := w.sift(t, func(c *Config) { c.Parallel = rapid.SampledFrom([]int{1, 3}).Draw(t, "parallel") })
		var command *CommandError
		if errors.As(err, &command) && len(w.bad) == 2 {
			return
		}
		if err != nil {
			t.Fatalf("%v: %v", w, err)
		}
		w.settled(t)
	})
}

// A Run that is stopped anywhere and taken up again does every row once.
func TestResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "rows")
		w := &world{rows: n, bad: map[int]string{}}
		for range rapid.IntRange(0, 5).Draw(t, "bad") {
			w.bad[rapid.IntRange(0, n-1).Draw(t, "row")] = "a"
		}
		w.done, w.letters = make([]int, n), map[int]Letter{}
		for range 200 {
			stop, runs := rapid.IntRange(1, 30).Draw(t, "stop after"), 0
			ctx, cancel := context.WithCancel(context.Background())
			_, err := w.again(t, func(c *Config) {
				c.Batch = 40
				for r, times := range w.done {
					if _, letter := w.letters[r]; letter || times > 0 {
						c.Done = append(c.Done, Span{r, r + 1})
					}
				}
				inner := c.Run
				c.Run = func(_ context.Context, b Batch) Outcome {
					if runs++; runs == stop {
						cancel()
						return Outcome{Class: bezoar.Interrupted}
					}
					return inner(ctx, b)
				}
			})
			cancel()
			if _, ok := errors.AsType[*CommandError](err); ok {
				return
			}
			if err == nil {
				w.settled(t)
				return
			}
			if runs < stop {
				t.Fatalf("%v: %v", w, err)
			}
		}
	})
}

func TestWrongCommandStopsWithinThreeRuns(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 1_000_000} {
		for _, parallel := range []int{1, 8} {
			w := &world{rows: n, fails: func(Batch) bool { return true }}
			sum, err := w.sift(t, func(c *Config) { c.Parallel = parallel })
			var command *CommandError
			if !errors.As(err, &command) || len(w.letters) > 0 || sum.Runs > 3 || len(w.runs) != sum.Runs {
				t.Errorf("%d rows: %v, %d letters, %d runs", n, err, len(w.letters), sum.Runs)
			}
		}
	}
	// It works without rows, and with none of them.
	w := &world{rows: 100, fails: func(b Batch) bool { return b.Len() > 0 }}
	sum, err := w.sift(t, nil)
	if err == nil || !strings.Contains(err.Error(), "it is the command, not the data: it fails alike with rows 62 and 24 alone (bug, Error)") || sum.Runs != 3 {
		t.Errorf("%v after %d runs", err, sum.Runs)
	}
	// It says something else each time.
	n := 0
	w = &world{rows: 100, run: func(b Batch) *Outcome {
		n++
		return &Outcome{Class: bezoar.Bug, Failure: Failure{Fingerprint: fmt.Sprint(n), Quality: "A", Detail: fmt.Sprint(n)}}
	}}
	var command *CommandError
	if sum, err := w.sift(t, nil); !errors.As(err, &command) || len(w.letters) > 0 || sum.Runs > 30 {
		t.Errorf("%v, %d letters, %d runs", err, len(w.letters), sum.Runs)
	}
	w = &world{rows: 100, fails: func(b Batch) bool { return b.Len() > 0 }}
	// All rows are bad, and it is known: every one of them is set aside.
	if _, err := w.sift(t, func(c *Config) { c.Blame = true }); err != nil || len(w.letters) != 100 {
		t.Errorf("%v, %d letters", err, len(w.letters))
	}
}

// A few rows, all of them bad, and a command that works without any.
func TestAllOfAFewRows(t *testing.T) {
	for _, n := range []int{1, 2} {
		w := &world{rows: n, bad: badRows("same", 0, n-1)}
		if _, err := w.sift(t, nil); err != nil || len(w.letters) != n {
			t.Errorf("%d rows: %v, %d letters", n, err, len(w.letters))
		}
	}
}

// A command that stops working half-way convicts nobody.
func TestCommandThatBreaksHalfWay(t *testing.T) {
	for _, class := range []bezoar.Class{bezoar.Bug, bezoar.Outage} {
		w := &world{rows: 10_000, bad: badRows("row", 70)}
		broken := 0
		w.run = func(b Batch) *Outcome {
			if len(w.runs) < 40 {
				return nil
			}
			broken++
			return &Outcome{Class: class, Failure: Failure{Type: "gone", Fingerprint: "gone"}}
		}
		_, err := w.sift(t, func(c *Config) { c.Batch = 100 })
		var command *CommandError
		var outage *OutageError
		if class == bezoar.Bug && !errors.As(err, &command) || class == bezoar.Outage && !errors.As(err, &outage) {
			t.Fatalf("%v", err)
		}
		if len(w.letters) != 1 || broken > 40 {
			t.Errorf("%d letters, %d runs until it was noticed", len(w.letters), broken)
		}
		w.run = nil // it was mended
		if _, err := w.again(t, func(c *Config) {
			for r, times := range w.done {
				if _, letter := w.letters[r]; letter || times > 0 {
					c.Done = append(c.Done, Span{r, r + 1})
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		w.settled(t)
	}
}

// Rows that the run names need no search: one run finds them, one more finishes
// the rest.
func TestNamedRowsAreTakenOut(t *testing.T) {
	w := &world{rows: 1000, bad: badRows("", 3, 500, 999)}
	w.run = func(b Batch) *Outcome {
		o := Outcome{Class: bezoar.Bug, Failure: Failure{Type: "Error"}}
		for i := range b.Len() {
			if _, bad := w.bad[b.Row(i)]; bad {
				o.Rows = append(o.Rows, Fault{i, "is odd"}, Fault{i, "is odd"}, Fault{b.Len(), ""}, Fault{-1, ""})
			}
		}
		if o.Rows == nil {
			return nil
		}
		return &o
	}
	sum, err := w.sift(t, nil)
	if err != nil || sum.Runs != 2 {
		t.Errorf("%v after %d runs", err, sum.Runs)
	}
	w.settled(t)
	if l := w.letters[500]; !l.Reported || l.Class != bezoar.Bug || l.Failure.Reason != "is odd" {
		t.Errorf("%+v", l)
	}
	// A run that worked but for the rows that it names is not repeated.
	inner := w.run
	w.run = func(b Batch) *Outcome {
		o := inner(b)
		if o != nil {
			o.Class = bezoar.Done
		}
		return o
	}
	w.runs = nil
	if sum, err = w.sift(t, nil); err != nil || sum.Runs != 1 || w.letters[3].Class != bezoar.Invalid {
		t.Errorf("%v after %d runs: %+v", err, sum.Runs, w.letters)
	}
	w.settled(t)
	// One that names everything is not believed.
	w.run = func(b Batch) *Outcome {
		if b.Len() > 1 {
			o := bug("all")
			for i := range b.Len() {
				o.Rows = append(o.Rows, Fault{Index: i})
			}
			return &o
		}
		return nil
	}
	w.bad, w.runs, w.rows = nil, nil, 20
	if _, err = w.sift(t, nil); err != nil {
		t.Error(err)
	}
	w.settled(t)
}

func TestWhatFailsForNowIsTriedAgain(t *testing.T) {
	w := &world{rows: 100}
	w.run = func(Batch) *Outcome {
		if len(w.runs) < 3 {
			return &Outcome{Class: bezoar.Transient, RetryAfter: time.Millisecond}
		}
		return nil
	}
	if sum, err := w.sift(t, nil); err != nil || sum.Runs != 4 || sum.Retries != 3 {
		t.Errorf("%v, %+v", err, sum)
	}
	w.settled(t)
	// For ever and everywhere: an outage.
	w.run = func(Batch) *Outcome { return &Outcome{Class: bezoar.Throttled} }
	var outage *OutageError
	if _, err := w.sift(t, nil); !errors.As(err, &outage) || len(w.letters) > 0 {
		t.Errorf("%v, %d letters", err, len(w.letters))
	}
	// For ever, because of one row.
	w.bad = badRows("", 17)
	w.run = func(b Batch) *Outcome {
		if has(b, 17) {
			return &Outcome{Class: bezoar.Transient}
		}
		return nil
	}
	if _, err := w.sift(t, nil); err != nil || w.letters[17].Class != bezoar.Transient {
		t.Errorf("%v, %+v", err, w.letters)
	}
	w.settled(t)
}

func TestWhatTakesTooLongIsSplitWithoutBlame(t *testing.T) {
	w := &world{rows: 10_000, bad: badRows("hang", 4321)}
	w.run = func(b Batch) *Outcome {
		took := time.Duration(b.Len()) * time.Second
		if has(b, 4321) || took > 1000*time.Second {
			return &Outcome{Class: bezoar.Timeout, Elapsed: 1000 * time.Second}
		}
		return &Outcome{Elapsed: took}
	}
	sum, err := w.sift(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.settled(t)
	if sum.Runs > 100 || !slices.ContainsFunc(sum.Together, func(x Together) bool { return x.Size }) {
		t.Errorf("%+v", sum)
	}
}

// A limit on the number of rows costs few runs more than there must be.
func TestTooManyRowsAtOnce(t *testing.T) {
	w := &world{rows: 100_000, limit: 1000}
	sum, err := w.sift(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.settled(t)
	if sum.Runs > 4*100 {
		t.Errorf("%d runs for 100 pieces", sum.Runs)
	}
	// Nor does a single pair make everything small for good.
	w = &world{rows: 100_000, pairs: [][2]int{{10, 11}}}
	if sum, err = w.sift(t, func(c *Config) { c.Batch = 10_000 }); err != nil || sum.Runs > 200 {
		t.Errorf("%v, %d runs", err, sum.Runs)
	}
	w.settled(t)
}

func TestSuspectsAreTriedLast(t *testing.T) {
	w := &world{rows: 1000, bad: badRows("x", 100, 299, 502)}
	if _, err := w.sift(t, nil); err != nil {
		t.Fatal(err)
	}
	last := w.runs[len(w.runs)-2:]
	if last[0].String() != "300" || last[1].String() != "503" {
		t.Errorf("the last runs were %v of %v", last, w.runs)
	}
}

func TestRunSaysWhyItStops(t *testing.T) {
	w := &world{rows: 100, bad: badRows("x", 3, 5, 90)}
	var letters *LettersError
	if _, err := w.sift(t, func(c *Config) { c.MaxLetters = 2 }); !errors.As(err, &letters) || len(w.letters) != 2 {
		t.Errorf("%v, %d letters", err, len(w.letters))
	}
	w.run = func(Batch) *Outcome {
		return &Outcome{Class: bezoar.SpawnFailed, Failure: Failure{Detail: "no such file"}}
	}
	w.runs = nil
	var start *StartError
	if _, err := w.sift(t, nil); !errors.As(err, &start) || len(w.runs) != 1 || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v after %d runs", err, len(w.runs))
	}
	full := errors.New("disk full")
	w.run = nil
	if _, err := w.sift(t, func(c *Config) { c.Finish = func(Batch, Outcome) error { return full } }); !errors.Is(err, full) {
		t.Error(err)
	}
	if _, err := w.sift(t, func(c *Config) { c.SetAside = func(Letter) error { return full } }); !errors.Is(err, full) {
		t.Error(err)
	}
	if sum, err := (&world{}).sift(t, nil); err != nil || sum.Runs != 0 {
		t.Errorf("no rows: %v, %d runs", err, sum.Runs)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := Config{Rows: -1, Batch: -1, Parallel: 1000, Attempts: -1, MaxLetters: -1, Done: []Span{{3, 2}}}.Validate()
	for _, want := range []string{"rows", "run, finish", "batch", "parallel", "attempts", "max letters", "done[0]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: nothing about %s", err, want)
		}
	}
}

func TestBatches(t *testing.T) {
	b := BatchOf(Span{10, 20}).without([]int{10, 14, 15, 19})
	if got := b.String(); got != "12–14, 17–19" || b.Len() != 6 || b.Row(3) != 16 || b.Extent() != (Span{11, 19}) {
		t.Errorf("%s, %d rows, row 3 is %d", got, b.Len(), b.Row(3))
	}
	l, r := b.split(4)
	if l.String() != "12–14, 17" || r.String() != "18–19" {
		t.Errorf("split into %v and %v", l, r)
	}
	if p := (pieces{l}).then(r); len(p) != 1 || p[0].String() != b.String() {
		t.Errorf("joined: %v", p)
	}
	if p := (pieces{b}).cut(12); len(p) != 2 || p[0].String() != "12" || p[1].String() != "14, 17–19" {
		t.Errorf("cut: %v", p)
	}
}

// A failure is described with its type once.
func TestFailureIsOneLine(t *testing.T) {
	for want, f := range map[string]Failure{
		"ValueError: no price":  {Type: "ValueError", Reason: "ValueError: no price"},
		"ValueError: no stock":  {Type: "ValueError", Reason: "no stock"},
		"exit status 1":         {Detail: "exit status 1"},
		"Error at load.py:7":    {Type: "Error", Frame: Frame{File: "load.py", Line: 7}},
		"ValueErrors: too many": {Reason: "ValueErrors: too many"},
	} {
		if got := f.String(); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
}
