package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/bezoar-dev/bezoar/worker"
)

// scripts check the owner of an entry and change the entry in one step. KEYS[1] is the
// stream, ARGV[1] the group and ARGV[2] the consumer.
type scripts struct{ keepAll, doneOne, leaveAll *redis.Script }

// owned is a Lua function that reports whether the consumer owns an entry.
const owned = `
local function owned(id)
  local p = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)
  return p[1] and p[1][2] == ARGV[2]
end
`

// keepScript renews the claim on the entries from ARGV[3] on. It returns those that the
// consumer no longer owns.
const keepScript = owned + `
local lost = {}
for i = 3, #ARGV do
  if owned(ARGV[i]) then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'JUSTID')
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
`

// doneScript acknowledges the entry ARGV[3] if the consumer owns it.
const doneScript = owned + `
if owned(ARGV[3]) then
  return redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
end
return 0
`

// leaveScript lets other consumers take over this consumer's entries at once: it sets their
// idle time to ARGV[3] milliseconds. It deletes a consumer without entries.
const leaveScript = `
local all = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 10000, ARGV[2])
for _, p in ipairs(all) do
  redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, p[1], 'IDLE', ARGV[3], 'JUSTID')
end
if #all == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
return 0
`

func newScripts() scripts {
	return scripts{redis.NewScript(1, keepScript), redis.NewScript(1, doneScript), redis.NewScript(1, leaveScript)}
}

// keepMost limits the entries per call, because a script blocks Redis.
const keepMost = 200

// keep renews the claim on entries and returns those that are lost.
func (c scripts) keep(ctx context.Context, s *Source, ids []string) (lost []string, err error) {
	for some := range slices.Chunk(ids, keepMost) {
		args := []any{s.cfg.Group, s.name}
		for _, id := range some {
			args = append(args, id)
		}
		gone, err := redis.Strings(s.client.run(ctx, c.keepAll, s.cfg.Stream, args...))
		if err != nil {
			return lost, err
		}
		lost = append(lost, gone...)
	}
	return lost, nil
}

func (c scripts) done(ctx context.Context, s *Source, id string) error {
	n, err := redis.Int(s.client.run(ctx, c.doneOne, s.cfg.Stream, s.cfg.Group, s.name, id))
	switch {
	case err != nil:
		return fmt.Errorf("%w: acknowledge it: %w", worker.ErrLost, err)
	case n == 0:
		return fmt.Errorf("%w: another worker took the message over", worker.ErrLost)
	}
	return nil
}

func (c scripts) leave(ctx context.Context, s *Source) error {
	_, err := s.client.run(ctx, c.leaveAll, s.cfg.Stream, s.cfg.Group, s.name, s.cfg.Lease.Milliseconds())
	return err
}

// keep renews the claim on held entries until ctx ends.
func (s *Source) keep(ctx context.Context) {
	tick := time.NewTicker(max(s.cfg.Lease/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.beat(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// beat renews the claims once, and stops entries that others took over.
func (s *Source) beat(ctx context.Context) {
	s.mu.Lock()
	var ids []string
	ids = slices.AppendSeq(ids, maps.Keys(s.held))
	s.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	lost, err := s.scripts.keep(ctx, s, ids)
	if err != nil && !errors.Is(err, context.Canceled) {
		s.cfg.Log.Warn("cannot renew the claim on messages", "stream", s.cfg.Stream, "messages", len(ids), "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range lost {
		if h := s.held[id]; h != nil { // it may have ended in the meantime
			s.drop(h)
			close(h.lost)
			s.cfg.Log.Warn("another worker took a message over; it is stopped here", "stream", s.cfg.Stream, "message", id)
		}
	}
}
