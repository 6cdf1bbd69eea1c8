package sqs_test

import (
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/queue"
)

// A program that has never ended a delivery, though another one has, looks at
// messages: that its connection closes is no death.
func TestAViewerIsNoWorker(t *testing.T) {
	var mu sync.Mutex // guards viewed
	viewed := 0
	s := serve(t, func(c *sqs.Config) {
		c.Viewed = func(string) { mu.Lock(); defer mu.Unlock(); viewed++ }
	})
	views := func(n int) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return viewed == n }
	}
	s.send(5, 100)
	look := func(agent string, headers ...string) {
		t.Helper()
		c := s.dial()
		s.write(c, "ReceiveMessage", `{"QueueUrl":"QUEUE"}`, append(headers, "User-Agent: "+agent)...)
		if status, body := s.read(c); status != 200 || body == "{}" {
			t.Fatalf("got %d %s", status, body)
		}
		_ = c.Close()
	}
	look("a script") // nobody is known to work yet
	within(t, func() bool { return len(s.gone()) == 1 })

	m, err := s.engine.Receive(t.Context(), "q", queue.ReceiveInput{})
	if err != nil || len(m) != 1 {
		t.Fatalf("received %d: %v", len(m), err)
	}
	c := s.dial()
	s.write(c, "DeleteMessage", `{"QueueUrl":"QUEUE","ReceiptHandle":"`+m[0].Receipt.String()+`"}`, "User-Agent: a worker")
	if status, body := s.read(c); status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	look("a script")
	within(t, views(1))
	look("a worker")
	within(t, func() bool { return len(s.gone()) == 2 })
	look("a script", "X-Bezoar-Worker: host:1#1", "X-Bezoar-Missed: yes", "X-Bezoar-Life: x")
	within(t, func() bool { return len(s.gone()) == 3 && s.gone()[2] == "host:1" })
	if !views(1)() {
		t.Error("a worker that says its name was taken for a viewer")
	}
}
