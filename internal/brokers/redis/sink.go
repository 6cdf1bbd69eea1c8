package redis

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gomodule/redigo/redis"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

const (
	callMost  = 200     // entries per script, because a script blocks Redis
	callBytes = 1 << 20 // bytes per script
)

// SinkConfig configures a sink. Server, Stream and Source are required.
type SinkConfig struct {
	Client
	Stream   string
	MaxLen   int64  // approximate length limit of the stream; 0: no limit
	MaxBytes int    // maximum size of a payload; 0: the limit of Redis
	Source   string // CloudEvents source
}

// Sink adds events of an outbox to a stream. Create it with [NewSink].
//
// A script adds events in order, and stops at the first one that Redis refuses. Redis does
// not deduplicate: an event that is delivered again appears twice, with the same ce_id.
type Sink struct {
	cfg    SinkConfig
	client pool
	add    *redis.Script
}

// SinkFromURL parses redis://HOST/STREAM, or rediss:// for TLS. The parameters are maxlen,
// max_bytes, db and those of [brokers.Address.TLS].
func SinkFromURL(text, source string, getenv func(string) string) (*Sink, error) {
	c, err := brokers.FromURL(text, port, getenv, func(a *brokers.Address) SinkConfig {
		return SinkConfig{
			Client: ClientFrom(a), Stream: a.Name, Source: source, MaxLen: a.Number("maxlen", 1, math.MaxInt64, "number of entries"),
			MaxBytes: int(a.Number("max_bytes", 1, math.MaxInt64, "number of bytes")),
		}
	})
	if err != nil {
		return nil, err
	}
	return NewSink(c)
}

// NewSink returns a sink. It does not connect.
func NewSink(c SinkConfig) (*Sink, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: c, client: c.open(), add: redis.NewScript(1, addScript)}, nil
}

// Validate returns one error that names every invalid field, or nil.
func (c SinkConfig) Validate() error {
	var errs faults.List
	errs.If(c.Server == "", "Server: missing")
	errs.If(c.Stream == "" || len(c.Stream) > maxName, "Stream: %.100q is not a valid stream name", c.Stream)
	errs.If(c.MaxLen < 0 || c.MaxBytes < 0, "MaxLen, MaxBytes: must not be negative")
	errs.If(c.Source == "", "Source: missing")
	return errors.Join(errs...)
}

func (s *Sink) Close() error {
	return s.client.Close()
}

// addScript adds entries to the stream KEYS[1] until Redis refuses one. It returns the
// number of added entries and the error, if any. ARGV has the stream's length limit or 0,
// the number of entries, and for each entry the number of its strings followed by these
// strings.
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
			results[i] = outgoing.Refused("the payload of %d bytes exceeds max_bytes=%d", len(r.Payload), s.cfg.MaxBytes)
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

// call adds records by one script. It returns how many were added, and the error that
// stopped it.
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
		return 0, fmt.Errorf("add to stream %s: unexpected answer of Redis", s.cfg.Stream)
	}
	n, _ := answer[0].(int64)
	if why, _ := answer[1].([]byte); len(why) > 0 {
		err = s.cfg.explain(fmt.Errorf("add to stream %s: %.300s", s.cfg.Stream, why))
	}
	return min(max(int(n), 0), len(going)), err
}

// fields returns the fields of an entry: the attributes with the prefix ce_, the event's
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
