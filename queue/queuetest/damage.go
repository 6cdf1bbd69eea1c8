package queuetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/queue"
)

// Damage checks what becomes of a message that has changed in a store which keeps
// it outside of this process's memory. change replaces a body there, byte for byte.
func Damage(t *testing.T, store queue.Store, change func(was, is string)) {
	ctx := t.Context()
	e, err := queue.New(queue.Config{}, store)
	suite.Must(t, err)
	if _, err := e.CreateQueue(ctx, "jobs", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	text := map[string]queue.Attribute{"c": {DataType: "String", String: `"#":1}`}}
	for _, in := range []queue.SendInput{{Body: []byte("the first")}, {Body: []byte("the 2nd")}, {Body: []byte("the 3rd"), Attributes: text}, {Body: []byte("the 2nd")}} {
		if _, err := e.Send(ctx, "jobs", in); err != nil {
			t.Fatal(err)
		}
	}
	change("the 3rd", "the 3rD")
	if got := take(ctx, t, e, "jobs"); got != "the 2nd,the 2nd,the first" {
		t.Errorf("delivered are %q", got)
	}
	dead, err := e.Peek(ctx, queue.ImplicitName("jobs"), 0, 10)
	suite.FatalIf(t, err != nil || len(dead) != 1, "set aside are %+v, %v", dead, err)
	if m := dead[0]; !m.Damaged || m.Letter == nil || m.Letter.Class != bezoar.Invalid || !strings.Contains(m.Letter.Reason, "changed in the store") {
		t.Errorf("set aside is %+v with %+v", m, m.Letter)
	}
	if got := take(ctx, t, e, queue.ImplicitName("jobs")); got != "" {
		t.Errorf("delivered from the dead letters are %q", got)
	}
	if _, err := e.Resend(ctx, dead[0].ID, queue.ResendInput{}); !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("resent as it is: %v", err)
	}
	if _, err := e.Resend(ctx, dead[0].ID, queue.ResendInput{Body: []byte("the third")}); err != nil {
		t.Errorf("resent with another body: %v", err)
	}
	if got := take(ctx, t, e, "jobs"); got != "the third" {
		t.Errorf("delivered after that are %q", got)
	}
	damageInOrder(ctx, t, e, change)
}

// damageInOrder checks that a group goes on past a message that is damaged, also
// among the dead letters.
func damageInOrder(ctx context.Context, t *testing.T, e *queue.Engine, change func(was, is string)) {
	s := queue.DefaultSettings()
	s.FIFO = true
	if _, err := e.CreateQueue(ctx, "jobs.fifo", s, nil); err != nil {
		t.Fatal(err)
	}
	for i, body := range []string{"in order, first", "in order, second", "in order, third", "in order, fourth"} {
		if _, err := e.Send(ctx, "jobs.fifo", queue.SendInput{Body: []byte(body), Group: "g", Dedup: string(rune('a' + i))}); err != nil {
			t.Fatal(err)
		}
	}
	change("in order, first", "in order, First")
	change("in order, fourth", "in order, Fourth")
	if _, err := e.Receive(ctx, "jobs.fifo", queue.ReceiveInput{Max: 1, Visibility: new(time.Duration(0))}); err != nil {
		t.Fatal(err)
	}
	if dead, err := e.Peek(ctx, queue.ImplicitName("jobs.fifo"), 0, 10); err != nil || len(dead) != 1 || !dead[0].Damaged {
		t.Errorf("a receive whose lease is over at once set %+v aside, %v", dead, err)
	}
	got, err := e.Receive(ctx, "jobs.fifo", queue.ReceiveInput{Max: 10})
	suite.FatalIf(t, err != nil || len(got) != 2 || string(got[0].Body) != "in order, second", "delivered in order are %+v, %v", got, err)
	for _, m := range got {
		out := &queue.Outcome{Class: bezoar.Invalid, Reason: "never"}
		if err := e.Reject(ctx, "jobs.fifo", m.Receipt, *out); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"in order, second", "in order, third"} { // one by one: those before are hidden by then
		got, err := e.Receive(ctx, queue.ImplicitName("jobs.fifo"), queue.ReceiveInput{})
		suite.FatalIf(t, err != nil || len(got) != 1 || string(got[0].Body) != want, "delivered from the dead letters are %+v, %v, want %q", got, err, want)
		if err := e.Delete(ctx, queue.ImplicitName("jobs.fifo"), got[0].Receipt); err != nil {
			t.Fatal(err)
		}
	}
	dead, err := e.Peek(ctx, queue.ImplicitName("jobs.fifo"), 0, 10)
	suite.ErrorIf(t, err != nil || len(dead) != 2 || !dead[0].Damaged || !dead[1].Damaged, "left among the dead letters are %+v, %v", dead, err)
}

// take receives and deletes what there is, and returns the bodies in their order.
func take(ctx context.Context, t *testing.T, e *queue.Engine, from string) string {
	t.Helper()
	var bodies []string
	for empty := 0; empty < 2; {
		got, err := e.Receive(ctx, from, queue.ReceiveInput{Max: 10})
		suite.Must(t, err)
		if len(got) == 0 {
			empty++
			continue
		}
		for _, m := range got {
			bodies = append(bodies, string(m.Body))
			if err := e.Delete(ctx, from, m.Receipt); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(bodies)
	return strings.Join(bodies, ",")
}
