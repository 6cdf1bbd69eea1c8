package outboxletters

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/queue"
)

// table is the events of an outbox that are not delivered. sent says what becomes of
// one that is retried.
type table struct {
	mu   sync.Mutex // guards the rest
	all  []outbox.Waiting
	sent func(t *table, i int)
	away error
}

func (t *table) Waiting(_ context.Context, q outbox.Query) ([]outbox.Waiting, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []outbox.Waiting
	for _, w := range t.all {
		if w.Position > q.After && (q.State == "" || q.State == w.State) && len(out) < q.Limit {
			if q.Bare {
				w.Payload, w.Headers = nil, nil
			}
			out = append(out, w)
		}
	}
	return out, t.away
}

func (t *table) Count(ctx context.Context, q outbox.Query) (int64, error) {
	q.Limit = 1000
	all, err := t.Waiting(ctx, q)
	return int64(len(all)), err
}

func (t *table) Find(context.Context, string) (outbox.Waiting, error) {
	return outbox.Waiting{}, outbox.ErrNotFound
}

func (t *table) find(position int64) int {
	return slices.IndexFunc(t.all, func(w outbox.Waiting) bool { return w.Position == position })
}

func (t *table) Retry(_ context.Context, positions []int64) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range positions {
		if i := t.find(p); i >= 0 && t.all[i].State == outbox.Parked {
			t.all[i].State = outbox.Ready
			n++
			if t.sent != nil {
				t.sent(t, i)
			}
		}
	}
	return n, t.away
}

func (t *table) Skip(_ context.Context, positions []int64) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range positions {
		if i := t.find(p); i >= 0 {
			t.all = slices.Delete(t.all, i, i+1)
			n++
		}
	}
	return n, t.away
}

func (t *table) Edit(_ context.Context, position int64, e outbox.Edit) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.find(position)
	if i < 0 {
		return outbox.ErrNotFound
	}
	if e.Payload != nil {
		t.all[i].Payload = e.Payload
	}
	if e.Headers != nil {
		t.all[i].Headers = e.Headers
	}
	if e.Type != nil {
		t.all[i].Type = *e.Type
	}
	return nil
}

func (t *table) open() (outbox.Letters, error) { return t, nil }

func delivered(t *table, i int) { t.all = slices.Delete(t.all, i, i+1) }

func failedAgain(state outbox.State) func(*table, int) {
	return func(t *table, i int) {
		w := &t.all[i]
		w.State, w.Attempts, w.Evidence = state, w.Attempts+1, &outbox.Evidence{Class: "invalid", Reason: "still too large"}
	}
}

func fixture(sent func(*table, int)) (*table, *Source) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	parked := func(position int64, class, reason string, headers map[string]string) outbox.Waiting {
		w := outbox.Waiting{
			State: outbox.Parked, Blamed: 5, Parked: at.Add(time.Duration(position) * time.Second), Behind: 3,
			Evidence: &outbox.Evidence{Class: class, Reason: reason, Relay: "host:1", Time: at},
		}
		w.ID, w.Topic, w.Key, w.Type = "event-"+string(rune('0'+position)), "orders", "k", "order.paid"
		w.Position, w.Attempts, w.Written, w.Payload, w.Headers = position, 7, at, []byte(`{"n":`+string(rune('0'+position))+`}`), headers
		return w
	}
	ready := outbox.Waiting{State: outbox.Ready}
	ready.Position, ready.ID = 2, "event-2"
	t := &table{sent: sent, all: []outbox.Waiting{
		parked(1, "invalid", "too large: 9 MB", map[string]string{"Trace": "t1"}), ready, parked(3, "invalid", "too large: 8 MB", nil), parked(4, classLost, "the relay died", nil),
	}}
	return t, New("shop", t.open, nil)
}

func letters(t *testing.T, s *Source, sel queue.Selection) []queue.Death {
	t.Helper()
	all, err := s.Letters(t.Context(), sel, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestParkedEventsAreLetters(t *testing.T) {
	store, s := fixture(nil)
	all := letters(t, s, queue.Selection{})
	if len(all) != 3 || all[0].Queue != "outbox:shop" || all[0].Body != nil || all[0].Letter.Class != bezoar.Crash || all[2].Letter.Class != bezoar.Invalid {
		t.Fatalf("the letters are %+v", all)
	}
	if rest, err := s.Letters(t.Context(), queue.Selection{}, all[0].Sequence, 1); err != nil || len(rest) != 1 || rest[0].ID != all[1].ID {
		t.Errorf("the second page is %+v, %v", rest, err)
	}
	groups, err := s.Groups(t.Context(), queue.Selection{}, 10)
	if err != nil || len(groups) != 2 || groups[1].Count != 2 {
		t.Errorf("the groups are %+v, %v", groups, err)
	}
	whole, err := s.Letter(t.Context(), all[2].ID)
	if err != nil || string(whole.Body) != `{"n":1}` || whole.Attributes["Event"].String != "event-1" || whole.Attributes["Header.Trace"].String != "t1" || whole.Attributes["Behind"].String != "3" {
		t.Errorf("the letter is %+v, %v", whole, err)
	}
	if len(whole.ID) != IDLength || whole.Letter.Receives != 7 {
		t.Errorf("the letter is %+v", whole)
	}
	if some := letters(t, s, queue.Selection{Body: `"n":3`}); len(some) != 1 || some[0].ID != all[1].ID {
		t.Errorf("with this body: %+v", some)
	}
	other := New("other", store.open, nil)
	for _, id := range []string{"dl-000000000000", "ob-00000000-000000000001", s.id(2), s.id(9), other.id(1)} {
		if _, err := s.Letter(t.Context(), id); !errors.Is(err, queue.ErrLetterNotFound) {
			t.Errorf("letter %s: %v", id, err)
		}
	}
}

func TestADatabaseThatIsAwayHidesNoOtherLetters(t *testing.T) {
	store, s := fixture(nil)
	before := letters(t, s, queue.Selection{})
	if err := s.Unread(); err != nil {
		t.Errorf("the list that was read: %v", err)
	}
	store.away = errors.New("connection refused")
	if after := letters(t, s, queue.Selection{}); len(after) != len(before) {
		t.Errorf("%d letters while the database is away, %d before", len(after), len(before))
	}
	if err := s.Unread(); !errors.Is(err, store.away) {
		t.Errorf("the list that was not read: %v", err)
	}
	if _, err := s.Redrive(t.Context(), before[0].ID); err == nil {
		t.Error("a redrive worked without the database")
	}
}

func TestRedriveRetries(t *testing.T) {
	for name, c := range map[string]struct {
		sent func(*table, int)
		want bezoar.Class
	}{
		"delivered":    {delivered, bezoar.Done},
		"parked again": {failedAgain(outbox.Parked), bezoar.Invalid},
		"fails again":  {failedAgain(outbox.Retrying), bezoar.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := fixture(c.sent)
			o, err := s.Redrive(t.Context(), letters(t, s, queue.Selection{})[1].ID)
			if err != nil || o.Class != c.want {
				t.Errorf("the outcome is %+v, %v; want %v", o, err, c.want)
			}
		})
	}
	_, s := fixture(delivered)
	id := letters(t, s, queue.Selection{})[1].ID
	if _, err := s.Redrive(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Redrive(t.Context(), id); !errors.Is(err, queue.ErrLetterNotFound) {
		t.Errorf("a letter that is gone: %v", err)
	}
}

func TestDiscardSkips(t *testing.T) {
	store, s := fixture(nil)
	if err := s.Discard(t.Context(), letters(t, s, queue.Selection{})[2].ID); err != nil || store.find(1) >= 0 {
		t.Errorf("discard: %v, %+v", err, store.all)
	}
	if n, _, err := s.CountLetters(t.Context(), queue.Selection{}); n != 2 || err != nil {
		t.Errorf("%d letters are left, %v", n, err)
	}
}

func TestEditSendsAgain(t *testing.T) {
	store, s := fixture(nil)
	m, err := s.Letter(t.Context(), letters(t, s, queue.Selection{})[2].ID)
	if err != nil {
		t.Fatal(err)
	}
	attributes := map[string]queue.Attribute{"Type": {String: "order.mended"}, "Header.Trace": {String: "t2"}, "Topic": m.Attributes["Topic"]}
	id, err := s.Edit(t.Context(), m, []byte("mended"), attributes)
	if w := store.all[0]; err != nil || id != "event-1" || string(w.Payload) != "mended" || w.Type != "order.mended" || w.Headers["Trace"] != "t2" || w.State != outbox.Ready {
		t.Errorf("after the edit: %q, %v, %+v", id, err, w)
	}
	attributes["Topic"] = queue.Attribute{String: "elsewhere"}
	if _, err := s.Edit(t.Context(), m, nil, attributes); err == nil || !strings.Contains(err.Error(), "Topic") {
		t.Errorf("an edit of the topic: %v", err)
	}
	if _, err := s.Edit(t.Context(), m, nil, map[string]queue.Attribute{"Type": {String: strings.Repeat("x", outbox.MaxType+1)}}); !errors.Is(err, triage.ErrInvalid) {
		t.Errorf("a type that no event may have: %v", err)
	}
	if _, err := s.Edit(t.Context(), m, nil, nil); !errors.Is(err, queue.ErrLetterNotFound) {
		t.Errorf("an edit of what is not parked: %v", err)
	}
}
