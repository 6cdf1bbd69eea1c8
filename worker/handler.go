package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// handler runs messages in this process.
type handler struct {
	f       func(ctx context.Context, m Message) error
	timeout time.Duration
	log     *slog.Logger
}

func (h *handler) run(ctx context.Context) error { <-ctx.Done(); return nil }

func (h *handler) sweep(context.Context) (int, error) { return 0, nil }

func (h *handler) isolated() bool { return false }

func (h *handler) do(ctx context.Context, m *Message, _ func(int)) result {
	inner, cancel := context.WithTimeoutCause(ctx, h.timeout, errOverdue)
	defer cancel()
	late := time.AfterFunc(h.timeout+time.Second, func() {
		h.log.Warn("a handler goes on beyond its timeout, and cannot be stopped", "message", m.ID, "timeout", h.timeout)
	})
	defer late.Stop()
	err := h.call(inner, *m)
	if err == nil {
		return result{}
	}
	var p *panicError
	switch {
	case errors.As(err, &p):
		return ofPanic(p)
	case errors.Is(context.Cause(inner), errOverdue) && errors.Is(err, context.DeadlineExceeded):
		return result{
			class: bezoar.Timeout, failure: "timeout", votes: 0, reason: fmt.Sprintf("overdue: %v", err),
			detail: fmt.Sprintf("asked to stop after %v, in its own process", h.timeout),
		}
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return result{class: bezoar.Interrupted, reason: err.Error()}
	}
	return ofError(err)
}

var errOverdue = errors.New("overdue")

type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

func (h *handler) call(ctx context.Context, m Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return h.f(ctx, m)
}
