package outboxdemo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Variable is the environment variable that tells a child what to do.
const Variable = "BEZOAR_DEMO_OUTBOX"

// task is what a child does.
type task struct {
	Way      Way    `json:"way"`
	Relay    bool   `json:"relay"` // instead of the application
	Database string `json:"database"`
	Schema   string `json:"schema"` // of the outbox
	Place    string `json:"place"`
	From     int    `json:"from"`  // the first order
	To       int    `json:"to"`    // the last one
	Crash    int    `json:"crash"` // the order at which the application kills itself, or after so many events the relay; 0: never
	Point    Point  `json:"point"`
}

// dies kills this process as the kernel kills one that uses too much memory: at
// once, with nothing written and nothing said.
func dies() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("this process cannot kill itself: %v", err))
	}
	select {}
}

// Child is one process of the demonstration. It returns when its task is done, or
// stdin ends.
func Child(ctx context.Context, getenv func(string) string, stdin io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // whoever started it holds the other end
		cancel()
	}()
	var t task
	if err := json.Unmarshal([]byte(getenv(Variable)), &t); err != nil {
		return errors.New("this command is a part of bezoar demo outbox, which starts it")
	}
	if t.Relay {
		return t.relay(ctx)
	}
	return t.shop(ctx)
}
