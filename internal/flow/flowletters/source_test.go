package flowletters

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/policy/task"
	"github.com/bezoar-dev/bezoar/queue"
)

// shelf is a store with one held run. carry says what an order does to it.
type shelf struct {
	mu     sync.Mutex // guards the rest
	run    flow.Run
	all    []flow.Instance
	orders []flow.Order
	carry  func(s *shelf, o flow.Order)
}

func (s *shelf) ListRuns(_ context.Context, q flow.RunQuery) ([]flow.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.State != s.run.State || q.Flow != s.run.Flow {
		return nil, nil
	}
	return []flow.Run{s.run}, nil
}

func (s *shelf) Instances(context.Context, string) ([]flow.Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]flow.Instance(nil), s.all...), nil
}

func (s *shelf) Order(_ context.Context, o flow.Order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, o)
	s.run.Version++
	s.carry(s, o)
	return nil
}

func fixture(carry func(s *shelf, o flow.Order)) (*shelf, *Source) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	dead := func(index int, group string) flow.Instance {
		return flow.Instance{
			Run: "run1", Task: "load", Index: index, Item: "oslo", State: task.DeadLetter, Why: "twice alike", Group: group, Since: at.Add(time.Duration(index) * time.Second),
			History: task.History{Attempts: 2, Last: []task.Failure{{Class: "bug", Reason: "KeyError", At: at}, {Class: "bug", Reason: "KeyError", At: at}}},
		}
	}
	s := &shelf{run: flow.Run{ID: "run1", Flow: "orders", State: flow.RunHeld, Params: map[string]string{"day": "today"}}, carry: carry}
	s.all = []flow.Instance{{Run: "run1", Task: "a", State: task.Success}, dead(0, "g1"), dead(1, "g1"), dead(2, "g2")}
	return s, New("orders", s, nil)
}

func TestLettersOfAFlow(t *testing.T) {
	_, source := fixture(nil)
	all, err := source.Letters(t.Context(), queue.Selection{}, 0, 10)
	if err != nil || len(all) != 3 || all[0].Queue != "flow:orders" || all[0].Body != nil {
		t.Fatalf("the letters are %+v, %v", all, err)
	}
	if rest, err := source.Letters(t.Context(), queue.Selection{}, all[0].Sequence, 1); err != nil || len(rest) != 1 || rest[0].ID != all[1].ID {
		t.Errorf("the second page is %+v, %v", rest, err)
	}
	groups, err := source.Groups(t.Context(), queue.Selection{}, 10)
	if err != nil || len(groups) != 2 || groups[0].Count != 1 || groups[1].Count != 2 || groups[1].Key != "bug:g1" {
		t.Errorf("the groups are %+v, %v", groups, err)
	}
	if n, _, err := source.CountLetters(t.Context(), queue.Selection{Groups: []string{"bug:g1"}}); n != 2 || err != nil {
		t.Errorf("%d of the group, %v", n, err)
	}
	whole, err := source.Letter(t.Context(), all[0].ID)
	if err != nil || !strings.Contains(string(whole.Body), `"day":"today"`) || len(whole.Letter.Attempts) != 2 || whole.Letter.Class != bezoar.Bug || whole.Attributes["Task"].String != "load" {
		t.Errorf("the letter is %+v, %v", whole, err)
	}
	if n, _, err := source.CountLetters(t.Context(), queue.Selection{Body: `"index":2`}); n != 1 || err != nil {
		t.Errorf("%d with this body, %v", n, err)
	}
	for _, id := range []string{"dl-000000000000", "fl-000000000000"} {
		if _, err := source.Letter(t.Context(), id); !errors.Is(err, queue.ErrLetterNotFound) {
			t.Errorf("letter %s: %v", id, err)
		}
	}
}

func TestRedrive(t *testing.T) {
	settle := func(state task.State, attempts int) func(s *shelf, o flow.Order) {
		return func(s *shelf, o flow.Order) {
			in := &s.all[1+o.Index]
			in.State, in.Why, in.History.Attempts = state, "now", attempts
		}
	}
	for name, c := range map[string]struct {
		carry func(s *shelf, o flow.Order)
		want  bezoar.Class
	}{
		"works":       {settle(task.Success, 3), bezoar.Done},
		"fails again": {settle(task.DeadLetter, 3), bezoar.Bug},
		"cancelled":   {settle(task.Cancelled, 2), bezoar.Bug},
	} {
		t.Run(name, func(t *testing.T) {
			s, source := fixture(c.carry)
			all, err := source.Letters(t.Context(), queue.Selection{}, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			o, err := source.Redrive(t.Context(), all[0].ID)
			if err != nil || o.Class != c.want {
				t.Errorf("the outcome is %+v, %v; want %v", o, err, c.want)
			}
			if len(s.orders) != 1 || s.orders[0].Verb != flow.VerbRetry || s.orders[0].Index != 2 {
				t.Errorf("the orders are %+v", s.orders)
			}
			if _, err := source.Redrive(t.Context(), all[0].ID); !errors.Is(err, queue.ErrLetterNotFound) {
				t.Errorf("a letter that is gone: %v", err)
			}
		})
	}
	s, source := fixture(settle(task.Cancelled, 2))
	all, err := source.Letters(t.Context(), queue.Selection{}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Discard(t.Context(), all[0].ID); err != nil || s.orders[0].Verb != flow.VerbCancel {
		t.Errorf("discard: %v, %+v", err, s.orders)
	}
	if n, _, err := source.CountLetters(t.Context(), queue.Selection{}); n != 2 || err != nil {
		t.Errorf("%d letters are left, %v", n, err)
	}
}
