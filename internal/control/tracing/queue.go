package tracing

import (
	"context"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Stats counts spans.
type Stats struct {
	Sent    uint64
	Dropped uint64 // not started or lost, because the queue was full or the collector is paused
	Failed  uint64 // not accepted by the collector
}

// First and last pause after failures of the collector; the pauses double.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// endPatience is the time limit for sending queued spans at the end.
const endPatience = 5 * time.Second

// queue holds finished spans until they are sent. It is the SDK's span processor. Unlike
// the SDK's own processors, it starts no goroutine, and drops spans before they start.
type queue struct {
	cfg      Config
	exporter sdk.SpanExporter
	spans    chan sdk.ReadOnlySpan
	down     atomic.Bool // the collector is paused

	sent, dropped, failed atomic.Uint64
}

var _ sdk.SpanProcessor = (*queue)(nil)

func newQueue(cfg Config, e sdk.SpanExporter) *queue {
	return &queue{cfg: cfg, exporter: e, spans: make(chan sdk.ReadOnlySpan, cfg.Queue)}
}

// open reports whether a span may start, and counts spans that may not.
func (q *queue) open() bool {
	if q.down.Load() || len(q.spans) == cap(q.spans) {
		q.dropped.Add(1)
		return false
	}
	return true
}

// OnStart implements [sdk.SpanProcessor].
func (*queue) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements [sdk.SpanProcessor]. It never blocks.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	select {
	case q.spans <- s:
	default:
		q.dropped.Add(1)
	}
}

// Shutdown implements [sdk.SpanProcessor]; run ends by its context.
func (*queue) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdk.SpanProcessor].
func (*queue) ForceFlush(context.Context) error { return nil }

// run sends batches until ctx ends, and then the queued spans.
func (q *queue) run(ctx context.Context) {
	batch := make([]sdk.ReadOnlySpan, 0, q.cfg.Batch)
	tick := time.NewTicker(q.cfg.Every)
	defer tick.Stop()
	pause := time.Duration(0)
	for ctx.Err() == nil {
		full := false
		select {
		case <-ctx.Done():
		case s := <-q.spans:
			batch = append(batch, s)
			full = len(batch) == cap(batch)
		case <-tick.C:
			full = len(batch) > 0
		}
		if !full || ctx.Err() != nil {
			continue
		}
		flight, land := outlast(ctx)
		pause = q.send(flight, batch, pause)
		land()
		batch = batch[:0]
		q.rest(ctx, pause)
	}
	q.finish(context.WithoutCancel(ctx), batch)
}

// outlast returns a context that ends endPatience after ctx, so that calls in progress can
// finish.
func outlast(ctx context.Context) (flight context.Context, land func()) {
	flight, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(endPatience, cancel) })
	return flight, func() { stop(); cancel() }
}

// send sends a batch, and returns the pause after it.
func (q *queue) send(ctx context.Context, batch []sdk.ReadOnlySpan, pause time.Duration) time.Duration {
	callCtx, cancel := context.WithTimeout(ctx, q.cfg.Timeout)
	defer cancel()
	err := q.exporter.ExportSpans(callCtx, batch)
	switch {
	case err == nil && pause > 0:
		q.cfg.Log.Info("the trace collector accepts spans again")
		fallthrough
	case err == nil:
		q.sent.Add(uint64(len(batch)))
		return 0
	}
	q.failed.Add(uint64(len(batch)))
	if pause == 0 && ctx.Err() == nil {
		q.cfg.Log.Warn("the trace collector does not accept spans; tracing pauses until it does", "err", err)
	}
	return min(max(2*pause, firstPause), lastPause)
}

// rest pauses, and discards spans that end during the pause.
func (q *queue) rest(ctx context.Context, pause time.Duration) {
	if pause == 0 {
		return
	}
	q.down.Store(true)
	defer q.down.Store(false)
	over := time.NewTimer(pause)
	defer over.Stop()
	for ctx.Err() == nil { // finish sends the spans that are queued now
		select {
		case <-q.spans:
			q.dropped.Add(1)
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// finish sends the queued spans and closes the exporter.
func (q *queue) finish(ctx context.Context, batch []sdk.ReadOnlySpan) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for pause := time.Duration(0); pause == 0; {
		for len(batch) < cap(batch) && len(q.spans) > 0 {
			batch = append(batch, <-q.spans)
		}
		if len(batch) == 0 {
			break
		}
		pause = q.send(ctx, batch, 0)
		batch = batch[:0]
	}
	q.dropped.Add(uint64(len(q.spans)))
	if err := q.exporter.Shutdown(ctx); err != nil {
		q.cfg.Log.Debug("closing the trace exporter failed", "err", err)
	}
}

func (q *queue) stats() Stats {
	return Stats{Sent: q.sent.Load(), Dropped: q.dropped.Load(), Failed: q.failed.Load()}
}
