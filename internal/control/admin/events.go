package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// Limits of event streams.
const (
	maxStreams = 64 // open streams; above this: 503
	eventBatch = 64 // events written between two flushes
)

// pace is the timing of event streams; tests use shorter times.
type pace struct {
	beat     time.Duration // interval of comment lines, which detect dead peers
	patience time.Duration // time after which a reader that takes nothing is dropped
}

// events streams events as server-sent events. The ID of each contains this process's start
// and the event's Seq. A reader that reconnects with an ID continues there, or at the
// oldest kept event.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable,
			fmt.Sprintf("%d event streams are open, the maximum", cap(s.streams)))
	}
	seq := s.resume(r.Header.Get("Last-Event-ID"))
	out := &eventWriter{w: w, ctl: http.NewResponseController(w), boot: s.boot, patience: s.pace.patience}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	if out.comment("welcome") != nil {
		return nil // the reader has disconnected
	}
	beat := time.NewTicker(s.pace.beat)
	defer beat.Stop()
	for {
		events, more := s.hub.After(seq, eventBatch)
		if len(events) > 0 {
			seq = events[len(events)-1].Seq
			if out.events(events) != nil {
				return nil
			}
			continue
		}
		select {
		case <-more:
		case <-beat.C:
			if out.comment("still here") != nil {
				return nil
			}
		case <-r.Context().Done():
			return nil
		case <-s.closing:
			return nil
		}
	}
}

// resume returns the Seq after which a stream starts: that of a Last-Event-ID from this
// process, 0 for an ID of an earlier process, and the newest Seq without an ID.
func (s *Server) resume(id string) uint64 {
	if id == "" {
		return s.hub.Last()
	}
	boot, seq, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil || boot != s.boot {
		return 0
	}
	return n
}

// eventWriter writes to one reader, with a deadline per write.
type eventWriter struct {
	w        http.ResponseWriter
	ctl      *http.ResponseController
	boot     string
	patience time.Duration
	buf      []byte
}

func (e *eventWriter) comment(text string) error {
	e.buf = append(e.buf[:0], ": "+text+"\n\n"...)
	return e.flush()
}

func (e *eventWriter) events(events []adminapi.Event) error {
	e.buf = e.buf[:0]
	for _, ev := range events {
		data, err := json.Marshal(ev)
		if err != nil || len(data) > adminapi.MaxEventBytes {
			continue // the reader sees a gap in Seq
		}
		e.buf = fmt.Appendf(e.buf, "id: %s-%d\ndata: %s\n\n", e.boot, ev.Seq, data)
	}
	return e.flush()
}

func (e *eventWriter) flush() error {
	if err := e.ctl.SetWriteDeadline(time.Now().Add(e.patience)); err != nil {
		return err
	}
	if _, err := e.w.Write(e.buf); err != nil {
		return err
	}
	return e.ctl.Flush()
}
