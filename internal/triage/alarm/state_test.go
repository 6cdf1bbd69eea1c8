package alarm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/queue"
)

func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func depth(n int64, r Rule) measure {
	return measure{value: float64(n), over: n > r.Above, calm: n <= r.Above*calmTenth/10}
}

// tell is a look, and what is told after it.
func (s state) tell(r Rule, m measure, now time.Time, failure error) (state, *Event) {
	s, news := s.look(r, m, now)
	if !news {
		return s, nil
	}
	s.Pending = s.event(r, m, "id", now)
	e := s.Pending
	return s.told(failure, now), e
}

func TestAnAlarmFiresRepeatsAndResolves(t *testing.T) {
	r := Rule{Name: "many", Kind: Depth, Above: 10, Repeat: time.Hour}
	var s state
	now := start()
	for i, step := range []struct {
		after time.Duration
		n     int64
		want  string
	}{
		{0, 10, ""},
		{10 * time.Second, 11, "firing"},
		{10 * time.Second, 50, ""},
		{time.Hour, 50, "firing again"},
		{time.Second, 9, ""},           // below the limit, but not by a fifth
		{time.Hour, 9, "firing again"}, // so it lasts
		{time.Second, 8, ""},           // calm
		{30 * time.Second, 9, ""},      // not any more
		{time.Second, 8, ""},           // calm again
		{59 * time.Second, 8, ""},      // not for a minute yet
		{time.Second, 8, "resolved"},   // now
		{time.Second, 11, ""},          // fires, but within the hour
		{time.Minute, 0, ""},           // calm
		{time.Minute, 0, ""},           // resolved, but nobody knew
		{time.Minute, 11, ""},          // fires
		{time.Hour, 11, "firing"},      // and lasts
		{time.Second, 0, ""},
		{time.Minute, 0, "resolved"},
	} {
		now = now.Add(step.after)
		var e *Event
		s, e = s.tell(r, depth(step.n, r), now, nil)
		text := ""
		if e != nil {
			text = e.Status
			if e.Repeat {
				text += " again"
			}
		}
		if text != step.want {
			t.Errorf("step %d, with %d letters: told %q, want %q", i, step.n, text, step.want)
		}
	}
}

// Whatever comes: firing is told no more often than Repeat, resolved follows
// firing, and nothing is told of what stays within the limit.
func TestTellingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Name: "x", Kind: Depth, Above: rapid.Int64Range(0, 20).Draw(t, "above"), Repeat: time.Duration(rapid.IntRange(1, 90).Draw(t, "repeat")) * time.Minute}
		var s state
		var lastFiring, lastFailure time.Time
		told, everOver, settled, calmSince := false, false, false, time.Time{}
		now := start()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 1200).Draw(t, "wait")) * time.Second)
			m := depth(rapid.Int64Range(0, 30).Draw(t, "n"), r)
			everOver = everOver || m.over
			if !m.calm {
				calmSince = time.Time{}
			} else if calmSince.IsZero() {
				calmSince = now
			}
			// Once calm for long enough it has resolved until it is over again,
			// however late that can be told.
			settled = !m.over && (settled || !calmSince.IsZero() && now.Sub(calmSince) >= settle)
			var failure error
			if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
				failure = fmt.Errorf("nobody listens")
			}
			var e *Event
			s, e = s.tell(r, m, now, failure)
			if e == nil {
				continue
			}
			if !everOver {
				t.Fatalf("told %+v of what was never over", e)
			}
			if !lastFailure.IsZero() && now.Sub(lastFailure) < tellLater {
				t.Fatalf("tried again %v after it could not be told", now.Sub(lastFailure))
			}
			if e.Status == Resolved && (!told || !settled) {
				t.Fatalf("told that it resolved: told %v, calm since %v, now %v", told, calmSince, now)
			}
			if e.Status == Firing && !lastFiring.IsZero() && now.Sub(lastFiring) < r.Repeat {
				t.Fatalf("told again after %v, repeat is %v", now.Sub(lastFiring), r.Repeat)
			}
			if failure != nil {
				lastFailure = now
				continue
			}
			lastFailure, told = time.Time{}, e.Status == Firing
			if told {
				lastFiring = now
			}
		}
	})
}

func TestEachRedriveIsToldOnce(t *testing.T) {
	r := Rule{Name: "redrives", Kind: Redrive, Repeat: time.Hour}
	task := func(id string, state queue.MoveState) Ended { return Ended{ID: id, State: state, Planned: 3, Moved: 3} }
	var s state
	now := start()
	for i, step := range []struct {
		after time.Duration
		tasks []Ended
		want  string
	}{
		{0, []Ended{task("old", queue.MoveCompleted)}, ""}, // was there before
		{time.Second, []Ended{task("a", queue.MoveHalted), task("old", queue.MoveCompleted)}, "a"},
		{time.Second, []Ended{task("b", queue.MoveCompleted), task("a", queue.MoveHalted)}, "b"},
		{time.Second, []Ended{task("b", queue.MoveCompleted), task("a", queue.MoveHalted)}, ""},
		{time.Hour, []Ended{task("b", queue.MoveCompleted), task("a", queue.MoveHalted)}, "a again"},
		{time.Second, []Ended{task("b", queue.MoveCompleted)}, ""}, // resumed
		{time.Second, []Ended{task("b", queue.MoveCompleted), task("a", queue.MoveHalted)}, "a"},
		{time.Second, []Ended{task("b", queue.MoveCompleted), task("a", queue.MoveCancelled)}, "a"},
		{2 * time.Hour, []Ended{task("b", queue.MoveCompleted), task("a", queue.MoveCancelled)}, ""},
	} {
		now = now.Add(step.after)
		var e *Event
		s, e = s.tell(r, measure{ended: step.tasks}, now, nil)
		got := ""
		if e != nil {
			for _, t := range e.Tasks {
				got += t.ID
			}
			if e.Repeat {
				got += " again"
			}
		}
		if got != step.want {
			t.Errorf("step %d: told %q, want %q", i, got, step.want)
		}
	}
}

func TestWhatCouldNotBeToldIsToldLater(t *testing.T) {
	r := Rule{Name: "redrives", Kind: Redrive, Repeat: time.Hour}
	s, _ := state{}.tell(r, measure{}, start(), nil)
	m := measure{ended: []Ended{{ID: "a", State: queue.MoveFailed}}}
	s, e := s.tell(r, m, start(), fmt.Errorf("%s", strings.Repeat("é", 200)))
	if e == nil || len(s.Failure) > maxText {
		t.Fatalf("told %+v, and the state is %+v", e, s)
	}
	if s, e = s.tell(r, m, start().Add(tellLater-1), nil); e != nil {
		t.Errorf("told too soon: %+v", e)
	}
	if _, e = s.tell(r, m, start().Add(tellLater), nil); e == nil || e.Tasks[0].ID != "a" {
		t.Errorf("told later: %+v", e)
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	_, err := New(Config{Every: -1, Rules: []Rule{
		{Name: "a b", Kind: "x", Repeat: time.Second},
		{Name: "c", Kind: Depth, Above: -1, Webhook: "ftp://secret/path"},
		{Name: "c", Kind: Oldest, Command: []string{" "}},
	}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{"Letters:", "Every:", "Name:", "Kind:", "Repeat:", "Webhook, Command:", "Above:", "Webhook:", "twice", "Age:", "Command[0]"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%q does not name %s", err, field)
		}
	}
	if strings.Contains(err.Error(), "path") {
		t.Errorf("%q holds the webhook's path", err)
	}
}

func TestRulesPrintNoSecrets(t *testing.T) {
	r := Rule{Name: "a", Kind: Depth, Webhook: "https://hooks.example.com/T0/hunter2", Secret: "hunter2", Command: []string{"page", "hunter2"}}
	for _, text := range []string{fmt.Sprint(r), fmt.Sprintf("%+v", Config{Rules: []Rule{r}}), fmt.Sprintf("%#v", r.Secret)} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("a secret is in %s", text)
		}
	}
	if want := "alarm a: depth of * above 0, to hooks.example.com and page"; r.String() != want {
		t.Errorf("the rule is %q, want %q", r, want)
	}
}
