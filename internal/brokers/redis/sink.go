package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/gomodule/redigo/redis"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	callMost  = 200     // entries of one script, while which Redis does nothing else
	callBytes = 1 << 20 // of one script
)

// SinkConfig says where events go. Server, Stream and Source are required.
type SinkConfig struct {
	Client
	Stream   string
	MaxLen   int64  // entries that the stream keeps, about; 0: all
	MaxBytes int    // of a payload; 0: whatever Redis takes
	Source   string // of the CloudEvents
}

// Sink is a stream as a sink of an outbox. Make it with [NewSink].
//
// Events are added in their order by a script, which ends at the first one that Redis
// does not take. Redis has no memory of events that it has: an event that is delivered
// again is there twice, with the same ce_id.
type Sink struct {
	cfg    SinkConfig
	client pool
	add    *redis.Script
}

// SinkFromURL reads redis://HOST/STREAM, or rediss:// with TLS. Its parameters are maxlen,
// max_bytes, db and those of [brokers.Address.TLS].
func SinkFromURL(text, source string, getenv func(string) string) (*Sink, error) {
	a, err := brokers.Parse(text, port, getenv)
	if err != nil {
		return nil, err
	}
	c := SinkConfig{Stream: a.Name, Source: source}
	if c.Client, err = ClientFrom(&a); err != nil {
		return nil, err
	}
	if text := a.Param("maxlen"); text != "" {
		if c.MaxLen, err = strconv.ParseInt(text, 10, 64); err != nil || c.MaxLen < 1 {
			return nil, fmt.Errorf("maxlen=%.100s is not a number of entries", text)
		}
	}
	if text := a.Param("max_bytes"); text != "" {
		if c.MaxBytes, err = strconv.Atoi(text); err != nil || c.MaxBytes < 1 {
			return nil, fmt.Errorf("max_bytes=%.100s is not a number of bytes", text)
		}
	}
	if err := a.Rest(); err != nil {
		return nil, err
	}
	return NewSink(c)
}

// NewSink returns a sink. It connects to nothing.
func NewSink(c SinkConfig) (*Sink, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: c, client: c.open(), add: redis.NewScript(1, addScript)}, nil
}

// Validate reports every field that is at fault.
func (c SinkConfig) Validate() error {
	var errs faults.List
	errs.If(c.Server == "", "Server: is missing")
	errs.If(c.Stream == "" || len(c.Stream) > maxName, "Stream: %.100q is no name of a stream", c.Stream)
	errs.If(c.MaxLen < 0 || c.MaxBytes < 0, "MaxLen, MaxBytes: one is below 0")
	errs.If(c.Source == "", "Source: is missing")
	return errors.Join(errs...)
}

// Close ends the connections.
func (s *Sink) Close() error {
	return s.client.Close()
}

// addScript adds entries to the stream KEYS[1] until one is not taken, and returns how
// many it has added, and why not all. ARGV has the stream's length, or 0, how many entries
// there are, and of each the number of its fields and values, and these.
const addScript = `
local most, n, at = tonumber(ARGV[1]), tonumber(ARGV[2]), 3
for i = 1, n do
  local size, entry = tonumber(ARGV[at]), {KEYS[1]}
  if most > 0 then
    entry = {KEYS[1], 'MAXLEN', '~', ARGV[1]}
  end
  entry[#entry + 1] = '*'
  for k = 1, size do
    entry[#entry + 1] = ARGV[at + k]
  end
  local added = redis.pcall('XADD', unpack(entry))
  if type(added) == 'table' and added.err then
    return {i - 1, added.err}
  end
  at = at + size + 1
end
return {n, ''}
`

// Send adds records to the stream.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []error {
	results := make([]error, len(records))
	failed := map[outgoing.Lane]bool{}
	var going []int
	size := 0
	var away error
	flush := func() {
		if len(going) == 0 {
			return
		}
		n := 0
		if away == nil {
			n, away = s.call(ctx, records, going)
		}
		for _, i := range going[n:] {
			lane := outgoing.LaneOf(&records[i])
			if results[i] = away; lane.Keyed() && failed[lane] {
				results[i] = outbox.ErrBehind
			}
			failed[lane] = true
		}
		going, size = nil, 0
	}
	for i := range records {
		r := &records[i]
		lane := outgoing.LaneOf(r)
		if lane.Keyed() && failed[lane] {
			results[i] = outbox.ErrBehind
			continue
		}
		if s.cfg.MaxBytes > 0 && len(r.Payload) > s.cfg.MaxBytes {
			results[i] = outgoing.Refused("its payload of %d bytes is larger than max_bytes=%d", len(r.Payload), s.cfg.MaxBytes)
			failed[lane] = true
			continue
		}
		if len(going) == callMost || size+len(r.Payload) > callBytes {
			flush()
		}
		going, size = append(going, i), size+len(r.Payload)
	}
	flush()
	return results
}

// call adds records by one script, and returns how many were added, and why not all.
func (s *Sink) call(ctx context.Context, records []outbox.Record, going []int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	args := []any{s.cfg.MaxLen, len(going)}
	for _, i := range going {
		fields := s.fields(&records[i])
		args = append(append(args, len(fields)), fields...)
	}
	answer, err := redis.Values(s.client.run(ctx, s.add, s.cfg.Stream, args...))
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return 0, fmt.Errorf("add to stream %s: %w", s.cfg.Stream, err)
	case err != nil:
		return 0, s.cfg.explain(fmt.Errorf("add to stream %s: %w", s.cfg.Stream, err))
	case len(answer) != 2:
		return 0, fmt.Errorf("add to stream %s: Redis answered something else", s.cfg.Stream)
	}
	n, _ := answer[0].(int64)
	if why, _ := answer[1].([]byte); len(why) > 0 {
		err = s.cfg.explain(fmt.Errorf("add to stream %s: %.300s", s.cfg.Stream, why))
	}
	return min(max(int(n), 0), len(going)), err
}

// fields are those of an entry: the attributes with ce_ before them, the event's
// headers, and the payload.
func (s *Sink) fields(r *outbox.Record) (all []any) {
	for _, a := range outgoing.Attributes(r, s.cfg.Source) {
		all = append(all, "ce_"+a.Name, a.Value)
	}
	all = append(all, "content-type", outgoing.ContentType(r))
	for _, h := range outgoing.Headers(r) {
		if h.Name != dataField {
			all = append(all, h.Name, h.Value)
		}
	}
	return append(all, dataField, r.Payload)
}
