package outboxdemo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Variable is the environment variable that holds a child's task.
const Variable = "BEZOAR_DEMO_OUTBOX"

// task is the work of a child process.
type task struct {
	Way      Way    `json:"way"`
	Relay    bool   `json:"relay"` // run the relay, not the application
	Database string `json:"database"`
	Schema   string `json:"schema"` // of the outbox
	Place    string `json:"place"`
	From     int    `json:"from"`  // number of the first order
	To       int    `json:"to"`    // number of the last order
	Crash    int    `json:"crash"` // the order at which the application kills itself, or the number of events after which the relay does; 0: never
	Point    Point  `json:"point"`
}

// dies kills this process with SIGKILL, as the kernel does when memory runs out: at once,
// without any cleanup.
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

// Child runs one process of the demonstration. It returns when its task is done, or when
// stdin ends.
func Child(ctx context.Context, getenv func(string) string, stdin io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // the parent holds the other end
		cancel()
	}()
	var t task
	if err := json.Unmarshal([]byte(getenv(Variable)), &t); err != nil {
		return errors.New("only bezoar demo outbox can start this command")
	}
	if t.Relay {
		return t.relay(ctx)
	}
	return t.shop(ctx)
}
