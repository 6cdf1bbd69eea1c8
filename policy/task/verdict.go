package task

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// These budgets are the same for all tasks. Each is separate: what the infrastructure did costs the task no attempt.
const (
	MaxKilled    = 5  // kills by the infrastructure
	MaxTogether  = 5  // deaths of Bezoar or its machine for which any running attempt may be the cause
	MaxAlone     = 15 // further such deaths, while the task ran alone
	MaxOverdue   = 2  // stops at the timeout
	MaxUnstarted = 2  // failed starts
)

// weakSpan is how long failures of a weak quality must go on before they count as repeated: a short outage must not
// convict.
const weakSpan = 30 * time.Second

// minSamples is the least number of runs for a percentile.
const minSamples = 5

// Rules say how a task is judged.
type Rules struct {
	Attempts    int // bound of attempts that fail by the task's fault
	Backoff     backoff.Config
	NoPoison    bool
	After       int // identical failures that end the retries; 0: depends on their quality
	MinAttempts int
	Permit      bool          // its failure is permitted
	Timeout     time.Duration // of one attempt; 0: none
	Every       time.Duration // between two looks of a sensor
	Patience    time.Duration // how long a sensor looks, from its first look
	Once        bool          // its side effect may have happened: a person decides about a next attempt
	Build       string        // of the code
}

// End is the end of an attempt.
type End struct {
	Class       bezoar.Class
	Reason      string
	Fingerprint string
	Group       string
	Quality     string
	RetryAfter  time.Duration
	NotYet      bool // a sensor did not find what it waits for
	Lost        bool // with Interrupted: Bezoar itself was killed
	Free        bool // with Interrupted: Bezoar ended it because Bezoar stops
}

// Room is the available time.
type Room struct {
	Now      time.Time
	First    time.Time     // when the task first ran
	Deadline time.Time     // zero: none
	Run      time.Duration // p95 of successful runs of the task; 0: unknown
	Rest     time.Duration // p95 of the longest path after it
	P99      time.Duration // of successful runs
	Samples  int           // number of successful runs for P99
}

// Verdict says what happens to a task after an attempt.
type Verdict struct {
	Event        Event
	Wait         time.Duration // of TryAgain, LookAgain and Interrupt
	Why          string        // for people, with the arithmetic
	Repeated     bool          // the same failure repeats
	Late         bool          // no retry fits the deadline
	WrongTimeout bool          // the timeout is below the p99 of successful runs
}

// Judge judges the end of an attempt. It returns the new history and the verdict. random,
// in [0, 1), jitters the wait.
func (r Rules) Judge(h History, e End, room Room, random float64) (History, Verdict) {
	h.Last = slices.Clone(h.Last)
	switch {
	case e.NotYet:
		return r.look(h, room)
	case e.Class == bezoar.Done:
		h.Wait = 0
		return h, Verdict{Event: Succeed}
	case e.Class == bezoar.Interrupted:
		return r.interrupted(h, e, random)
	}
	h = h.with(r.failure(e, room.Now))
	why, used := "", 0
	v := Verdict{Event: TryAgain}
	switch e.Class {
	case bezoar.SpawnFailed:
		h.Unstarted++
		used, why = h.Unstarted, exhausted(h.Unstarted, MaxUnstarted, "it could not be started")
	case bezoar.Timeout:
		h.Overdue++
		used, why = h.Overdue, exhausted(h.Overdue, MaxOverdue, "it was stopped at its timeout")
		v.WrongTimeout = room.Samples >= minSamples && r.Timeout > 0 && room.P99 > r.Timeout
		v.Why = r.timeout(room, v.WrongTimeout)
	default:
		h.Own++
		used, why = h.Own, exhausted(h.Own, r.Attempts, "it failed")
	}
	if n := r.repeats(h, e, room.Now); n > 0 {
		v.Repeated = true
		why = fmt.Sprintf("the same failure %d times in one build (%s): it repeats itself", n, short(e))
	}
	if why == "" && r.Once && e.Class != bezoar.SpawnFailed {
		why = "its side effect may have happened: a person must decide about a second attempt"
	}
	if why != "" {
		return h, r.over(v, why)
	}
	v.Wait = max(r.Backoff.After(used-1, h.Wait, random), e.RetryAfter)
	if late := room.late(v.Wait); late != "" {
		v.Late, v.Wait = true, 0
		return h, r.over(v, late)
	}
	h.Wait = v.Wait
	v.Why = joined(fmt.Sprintf("again in %v, after failure %d (%s)", round(v.Wait), used, short(e)), v.Why)
	return h, v
}

// Refuse returns the verdict on a task that cannot begin, because its definition does not fit its data.
func (r Rules) Refuse(h History, reason string, now time.Time) (History, Verdict) {
	h.Last = slices.Clone(h.Last)
	return h.with(r.failure(End{Class: bezoar.Invalid, Reason: reason}, now)), r.over(Verdict{}, reason)
}

// over returns the verdict that there is no further attempt.
func (r Rules) over(v Verdict, why string) Verdict {
	v.Event, v.Why = SetAside, joined(why, v.Why)
	if r.Permit {
		v.Event = GiveUp
	}
	return v
}

func (r Rules) look(h History, room Room) (History, Verdict) {
	h.Looks++
	if end := room.First.Add(r.Patience); r.Patience > 0 && room.Now.Add(r.Every).After(end) {
		return h, r.over(Verdict{}, fmt.Sprintf("its sensor found nothing within %v (%d looks)", r.Patience, h.Looks))
	}
	if late := room.late(r.Every); late != "" {
		return h, r.over(Verdict{Late: true}, late)
	}
	return h, Verdict{Event: LookAgain, Wait: r.Every, Why: fmt.Sprintf("not there yet; look %d in %v", h.Looks+1, r.Every)}
}

func (r Rules) interrupted(h History, e End, random float64) (History, Verdict) {
	v := Verdict{Event: Interrupt, Why: e.Reason}
	why := ""
	switch {
	case e.Free:
	case e.Lost:
		h.Lost++
		why = exhausted(h.Lost-MaxTogether, MaxAlone, "Bezoar, or its machine, died while it ran alone")
	default:
		h.Killed++
		why = exhausted(h.Killed, MaxKilled, "the infrastructure ended it")
		v.Wait = r.Backoff.Wait(h.Killed-1, random)
	}
	if why == "" && r.Once {
		why = "its side effect may have happened: a person must decide about a second attempt"
	}
	if why != "" {
		v.Wait = 0
		return h, r.over(v, why)
	}
	return h, v
}

func (r Rules) failure(e End, now time.Time) Failure {
	return Failure{
		Class: e.Class.String(), Fingerprint: identity(e), Group: e.Group, Quality: quality(e), Build: r.Build, Reason: e.Reason, At: now,
	}
}

// with adds a failure, and drops the oldest one beyond MaxFailures.
func (h History) with(f Failure) History {
	h.Last, h.Fresh = append(h.Last, f), min(h.Fresh+1, MaxFailures)
	if n := len(h.Last) - MaxFailures; n > 0 {
		h.Last = slices.Delete(h.Last, 0, n)
	}
	return h
}

// identity returns what makes two failures the same. An attempt that the executor calls malformed has no trace; its reason
// is used instead.
func identity(e End) string {
	if e.Fingerprint == "" && e.Class == bezoar.Invalid {
		return "invalid: " + e.Reason
	}
	return e.Fingerprint
}

func quality(e End) string {
	if e.Fingerprint == "" && e.Class == bezoar.Invalid {
		return "A"
	}
	return e.Quality
}

// Counts reports whether failures of a class can be poison.
func Counts(c bezoar.Class) bool {
	switch c {
	case bezoar.Bug, bezoar.Crash, bezoar.OOM, bezoar.Invalid:
		return true
	default:
		return false
	}
}

// votes returns how many identical failures of a quality are enough; 0: no number.
func votes(quality string) int {
	switch quality {
	case "A":
		return 2
	case "B", "C":
		return 3
	default:
		return 0
	}
}

// repeats returns how often the last failure has occurred in a row if that is enough to end the retries; otherwise 0.
func (r Rules) repeats(h History, e End, now time.Time) int {
	enough := votes(quality(e))
	if r.NoPoison || enough == 0 || !Counts(e.Class) {
		return 0
	}
	if r.After > 0 {
		enough = r.After
	}
	id, n, since := identity(e), 0, now
	for _, f := range slices.Backward(h.Last[max(0, len(h.Last)-h.Fresh):]) {
		if f.Fingerprint != id || f.Build != r.Build || f.Class != e.Class.String() {
			break
		}
		n, since = n+1, f.At
	}
	if n < max(enough, r.MinAttempts) || quality(e) != "A" && now.Sub(since) < weakSpan {
		return 0
	}
	return n
}

// Alike returns a key for siblings that fail from one cause; "" if nothing proves one cause.
func (f Failure) Alike() string {
	if f.Fingerprint == "" || f.Quality != "A" && f.Quality != "B" {
		return ""
	}
	switch f.Class {
	case bezoar.Bug.String(), bezoar.Crash.String(), bezoar.OOM.String(), bezoar.Invalid.String():
		return f.Build + " " + f.Fingerprint
	default:
		return ""
	}
}

// shareOfEnded: one in this many ended siblings must have died in the same way.
const shareOfEnded = 5

// SiblingsPoisoned reports whether dead instances that failed in the same way, among ended ones, are a reason to hold the
// others back. A few among many successes are anomalies.
func SiblingsPoisoned(after, dead, ended int) bool {
	return after > 0 && dead >= after && dead*shareOfEnded >= ended
}

// late returns why an attempt after wait does not fit the deadline, or "".
func (room Room) late(wait time.Duration) string {
	if room.Deadline.IsZero() {
		return ""
	}
	left, need := room.Deadline.Sub(room.Now), wait+room.Run+room.Rest
	if need <= left {
		return ""
	}
	return fmt.Sprintf("no retry fits the deadline: wait %v + p95 of a run %v + p95 of the tasks after it %v = %v, but %v are left",
		round(wait), round(room.Run), round(room.Rest), round(need), round(max(left, 0)))
}

func (r Rules) timeout(room Room, wrong bool) string {
	if room.Samples == 0 {
		return fmt.Sprintf("timeout %v; no run has succeeded yet", r.Timeout)
	}
	text := fmt.Sprintf("timeout %v; p99 of %d successful runs is %v", r.Timeout, room.Samples, round(room.P99))
	if wrong {
		text += ": the timeout is wrong, not the task"
	}
	return text
}

func exhausted(n, limit int, what string) string {
	if n < limit {
		return ""
	}
	return fmt.Sprintf("%s %s, the limit is %d", what, times(n), limit)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// short describes a failure in a few words.
func short(e End) string {
	reason, _, _ := strings.Cut(e.Reason, "\n")
	if len(reason) > 120 {
		reason = strings.ToValidUTF8(reason[:120], "") + "…"
	}
	return joined(e.Class.String(), reason)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// round drops insignificant digits.
func round(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second)
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	default:
		return d.Round(time.Millisecond)
	}
}
