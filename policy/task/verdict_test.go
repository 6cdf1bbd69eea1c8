package task_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/task"
)

func rules() task.Rules {
	return task.Rules{Attempts: 3, MinAttempts: 2, Build: "b1", Backoff: backoff.Config{Strategy: backoff.Exponential, Base: time.Second, Cap: time.Minute}}
}

func at(s int) task.Room { return task.Room{Now: time.Unix(int64(s), 0), First: time.Unix(0, 0)} }

func bug(fingerprint, quality string) task.End {
	return task.End{Class: bezoar.Bug, Reason: "ZeroDivisionError: division by zero", Fingerprint: fingerprint, Quality: quality}
}

// play judges one end after another, ten seconds apart, until one is final.
func play(r task.Rules, ends ...task.End) (h task.History, v task.Verdict, n int) {
	for k, e := range ends {
		h, v = r.Judge(h, e, at(10*k), 0.5)
		n++
		if v.Event != task.TryAgain && v.Event != task.LookAgain && v.Event != task.Interrupt {
			break
		}
	}
	return h, v, n
}

func repeat(e task.End, n int) (all []task.End) {
	for range n {
		all = append(all, e)
	}
	return all
}

func TestWhatEndsTheRetries(t *testing.T) {
	killed := task.End{Class: bezoar.Interrupted, Reason: "SIGKILL that nobody sent"}
	lost := task.End{Class: bezoar.Interrupted, Lost: true}
	many := rules()
	many.Attempts = 100
	permitted := rules()
	permitted.Permit = true
	once := rules()
	once.Once = true
	off := many
	off.NoPoison = true
	five := many
	five.After = 5
	for name, tc := range map[string]struct {
		rules task.Rules
		ends  []task.End
		after int
		want  task.Event
		why   string
	}{
		"success":                              {rules(), repeat(task.End{}, 1), 1, task.Succeed, ""},
		"a frame of the user's own, twice":     {many, repeat(bug("f", "A"), 9), 2, task.SetAside, "the same failure 2 times in one build (bug; ZeroDivisionError: division by zero)"},
		"somebody else's frame, three times":   {many, repeat(bug("f", "B"), 9), 4, task.SetAside, "the same failure 4 times"}, // the third one is 20 s after the first
		"words, for more than 30 s":            {many, repeat(bug("f", "C"), 9), 4, task.SetAside, "the same failure 4 times"},
		"an exit code alone never":             {many, repeat(bug("f", "D"), 20), 20, task.TryAgain, ""},
		"two failures in turn":                 {many, []task.End{bug("f", "A"), bug("g", "A"), bug("f", "A"), bug("g", "A")}, 4, task.TryAgain, ""},
		"after five":                           {five, repeat(bug("f", "A"), 9), 5, task.SetAside, "5 times"},
		"poison is off":                        {off, repeat(bug("f", "A"), 20), 20, task.TryAgain, ""},
		"transient failures repeat themselves": {many, repeat(task.End{Class: bezoar.Transient, Fingerprint: "f", Quality: "A"}, 9), 9, task.TryAgain, ""},
		"outages too":                          {many, repeat(task.End{Class: bezoar.Outage, Fingerprint: "f", Quality: "A"}, 9), 9, task.TryAgain, ""},
		"malformed twice":                      {many, repeat(task.End{Class: bezoar.Invalid, Reason: "no date"}, 9), 2, task.SetAside, "the same failure 2 times"},
		"attempts":                             {rules(), repeat(bug("", ""), 9), 3, task.SetAside, "it failed 3 times, the limit is 3"},
		"kills by the infrastructure":          {rules(), repeat(killed, 9), task.MaxKilled, task.SetAside, "the infrastructure ended it 5 times, the limit is 5"},
		"deaths of Bezoar":                     {rules(), repeat(lost, 99), task.MaxTogether + task.MaxAlone, task.SetAside, "died while it ran alone 15 times, the limit is 15"},
		"stops of Bezoar cost nothing":         {rules(), repeat(task.End{Class: bezoar.Interrupted, Free: true}, 99), 99, task.Interrupt, ""},
		"failed starts":                        {rules(), repeat(task.End{Class: bezoar.SpawnFailed, Reason: "no such file"}, 9), task.MaxUnstarted, task.SetAside, "it could not be started 2 times"},
		"timeouts are no poison":               {many, repeat(task.End{Class: bezoar.Timeout, Fingerprint: "f", Quality: "A"}, 9), task.MaxOverdue, task.SetAside, "stopped at its timeout 2 times"},
		"permitted":                            {permitted, repeat(bug("", ""), 9), 3, task.GiveUp, "it failed 3 times"},
		"a side effect that may have happened": {once, repeat(bug("", ""), 9), 1, task.SetAside, "may have happened"},
		"and one that was interrupted":         {once, repeat(task.End{Class: bezoar.Interrupted, Free: true}, 9), 1, task.SetAside, "may have happened"},
		"but one that did not start":           {once, repeat(task.End{Class: bezoar.SpawnFailed}, 1), 1, task.TryAgain, ""},
		"budgets are separate": {rules(), []task.End{
			bug("f", "A"), killed, {Class: bezoar.Timeout}, killed, {Class: bezoar.SpawnFailed}, killed, bug("g", "A"), killed,
		}, 8, task.Interrupt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, v, n := play(tc.rules, tc.ends...)
			if v.Event != tc.want || n != tc.after || !strings.Contains(v.Why, tc.why) {
				t.Errorf("after %d: %s, %q; want %s after %d, because of %q", n, v.Event, v.Why, tc.want, tc.after, tc.why)
			}
		})
	}
}

func TestVotesCountInOneBuildAndSinceTheLastRetry(t *testing.T) {
	r := rules()
	h, _ := r.Judge(task.History{}, bug("f", "A"), at(0), 0)
	r.Build = "b2"
	h, v := r.Judge(h, bug("f", "A"), at(1), 0)
	if v.Event != task.TryAgain {
		t.Fatalf("a failure of another build counts: %s", v.Why)
	}
	h = h.Again()
	h, v = r.Judge(h, bug("f", "A"), at(2), 0)
	if v.Event != task.TryAgain || len(h.Last) != 3 {
		t.Fatalf("what failed before a person retried counts: %s", v.Why)
	}
	if _, v = r.Judge(h, bug("f", "A"), at(3), 0); v.Event != task.SetAside || !v.Repeated {
		t.Errorf("%s, %q, want that it repeats itself", v.Event, v.Why)
	}
}

func TestARetryMustFitTheDeadline(t *testing.T) {
	room := at(0)
	room.Run, room.Rest = 20*time.Second, 40*time.Second
	for left, want := range map[time.Duration]task.Event{61 * time.Second: task.TryAgain, 61*time.Second - 1: task.SetAside, -1: task.SetAside} {
		room.Deadline = room.Now.Add(left)
		_, v := rules().Judge(task.History{}, bug("f", "A"), room, 0) // waits 1 s
		if v.Event != want || v.Late != (want == task.SetAside) {
			t.Errorf("with %v left: %s, %q, want %s", left, v.Event, v.Why, want)
		}
		if v.Late && !strings.Contains(v.Why, "wait 1s + p95 of a run 20s + p95 of the tasks after it 40s = 1m1s, but") {
			t.Errorf("%q, want the arithmetic", v.Why)
		}
	}
	r := rules()
	r.Every, r.Patience = time.Minute, time.Hour
	room.Deadline = room.Now.Add(time.Minute)
	if _, v := r.Judge(task.History{}, task.End{NotYet: true}, room, 0); v.Event != task.SetAside || !v.Late {
		t.Errorf("a look that is too late: %s, %q", v.Event, v.Why)
	}
}

func TestAWrongTimeoutIsNamed(t *testing.T) {
	r := rules()
	r.Timeout = 10 * time.Second
	room := at(0)
	room.P99, room.Samples = 12*time.Second, 40
	_, v := r.Judge(task.History{}, task.End{Class: bezoar.Timeout}, room, 0)
	if !v.WrongTimeout || !strings.Contains(v.Why, "timeout 10s; p99 of 40 successful runs is 12s: the timeout is wrong, not the task") {
		t.Errorf("%+v, want that the timeout is wrong", v)
	}
	room.P99 = 9 * time.Second
	_, v = r.Judge(task.History{}, task.End{Class: bezoar.Timeout}, room, 0)
	if v.WrongTimeout || !strings.Contains(v.Why, "p99 of 40 successful runs is 9s") {
		t.Errorf("%+v, want the limit beside p99", v)
	}
	room.P99, room.Samples = 12*time.Second, 2
	if _, v = r.Judge(task.History{}, task.End{Class: bezoar.Timeout}, room, 0); v.WrongTimeout {
		t.Error("two runs make no percentile")
	}
}

func TestSensors(t *testing.T) {
	r := rules()
	r.Every, r.Patience = 30*time.Second, time.Hour
	h, looks := task.History{}, 0
	for k := 0; ; k++ {
		var v task.Verdict
		h, v = r.Judge(h, task.End{NotYet: true}, at(30*k), 0)
		looks++
		if v.Event == task.SetAside {
			if !strings.Contains(v.Why, "found nothing within 1h0m0s") {
				t.Errorf("why %q", v.Why)
			}
			break
		}
		if v.Event != task.LookAgain || v.Wait != 30*time.Second {
			t.Fatalf("look %d: %+v", looks, v)
		}
	}
	if looks != 121 || h.Own != 0 { // at 0 s, 30 s, … 3,600 s
		t.Errorf("%d looks, %d failures, want 121 and none", looks, h.Own)
	}
}

func TestSiblings(t *testing.T) {
	for _, tc := range []struct {
		after, dead, ended int
		want               bool
	}{{3, 3, 3, true}, {3, 2, 2, false}, {3, 3, 15, true}, {3, 3, 16, false}, {3, 300, 1500, true}, {0, 9, 9, false}} {
		if got := task.SiblingsPoisoned(tc.after, tc.dead, tc.ended); got != tc.want {
			t.Errorf("%d of %d ended died alike, after %d: %v, want %v", tc.dead, tc.ended, tc.after, got, tc.want)
		}
	}
	for _, f := range []task.Failure{
		{Class: "bug", Fingerprint: "f", Quality: "C"}, {Class: "transient", Fingerprint: "f", Quality: "A"}, {Class: "timeout", Fingerprint: "f", Quality: "A"}, {Class: "bug"},
	} {
		if f.Alike() != "" {
			t.Errorf("%+v proves a common cause", f)
		}
	}
}

// TestNoSequenceOfEndsGoesOnForEver: whatever happens, the attempts of one task
// are bounded, stops of Bezoar itself excepted.
func TestNoSequenceOfEndsGoesOnForEver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rules()
		r.Attempts = rapid.IntRange(1, 10).Draw(t, "attempts")
		limit := r.Attempts + task.MaxKilled + task.MaxTogether + task.MaxAlone + task.MaxOverdue + task.MaxUnstarted - 4
		var h task.History
		for n := 1; ; n++ {
			e := task.End{
				Class:       rapid.SampledFrom([]bezoar.Class{bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Invalid, bezoar.Bug, bezoar.Crash, bezoar.OOM, bezoar.Timeout, bezoar.Interrupted, bezoar.SpawnFailed}).Draw(t, "class"),
				Fingerprint: rapid.SampledFrom([]string{"", "f", "g"}).Draw(t, "fingerprint"),
				Quality:     rapid.SampledFrom([]string{"", "A", "B", "C", "D"}).Draw(t, "quality"),
				Lost:        rapid.Bool().Draw(t, "lost"),
			}
			before := len(h.Last)
			var v task.Verdict
			h, v = r.Judge(h, e, at(n), rapid.Float64Range(0, 0.999).Draw(t, "random"))
			if _, ok := task.Running.Next(v.Event); !ok {
				t.Fatalf("verdict %s is impossible for what runs", v.Event)
			}
			if len(h.Last) > task.MaxFailures || e.Class != bezoar.Interrupted && before < task.MaxFailures && len(h.Last) != before+1 {
				t.Fatalf("%d failures are remembered after %d", len(h.Last), before)
			}
			if v.Event == task.SetAside {
				if v.Why == "" {
					t.Fatal("a verdict says nothing")
				}
				return
			}
			if v.Wait < 0 || v.Wait > time.Minute {
				t.Fatalf("a wait of %v", v.Wait)
			}
			if n > limit {
				t.Fatalf("%d attempts, want at most %d", n, limit)
			}
		}
	})
}
