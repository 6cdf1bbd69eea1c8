package tables

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/bezoar-dev/bezoar/outbox"
)

// candidate is an event that may be claimed.
type candidate struct {
	outbox.Ref
	lane  sql.NullInt64
	bytes int64
}

// candidates returns the first ready events of a topic.
func (s *Store) candidates(ctx context.Context, tx *sql.Tx, c *outbox.Claim) (all []candidate, lanes []int64, err error) {
	const fewest = 200 // minimum number of events to examine
	seen := map[int64]bool{}
	err = s.each(ctx, tx, `SELECT position, written_at, bytes, attempts, blamed, lane
		FROM {schema}_pending WHERE topic = ? AND state = 0 ORDER BY position LIMIT ?`, []any{c.Topic, max(c.Events, fewest)},
		func(scan func(...any) error) error {
			var r candidate
			err := scan(&r.Position, (*moment)(&r.Written), &r.bytes, &r.Attempts, &r.Blamed, &r.lane)
			if all = append(all, r); r.lane.Valid && !seen[r.lane.Int64] {
				seen[r.lane.Int64] = true
				lanes = append(lanes, r.lane.Int64)
			}
			return err
		})
	return all, lanes, err
}

// holders returns, for each lane, the first event that blocks later ones.
func (s *Store) holders(ctx context.Context, tx *sql.Tx, lanes []int64) (map[int64]int64, error) {
	first := map[int64]int64{}
	if len(lanes) == 0 {
		return first, nil
	}
	err := s.each(ctx, tx, `SELECT lane, min(position) FROM {schema}_pending WHERE lane IN `+among(lanes)+` AND state <> 0 AND state IN (1, 2, 3)
		GROUP BY lane, state`, nil, func(scan func(...any) error) error {
		var lane, position int64
		err := scan(&lane, &position)
		if was, ok := first[lane]; !ok || position < was {
			first[lane] = position
		}
		return err
	})
	return first, err
}

// claim creates a flight. It returns nil if no event can be claimed.
func (s *Store) claim(ctx context.Context, tx *sql.Tx, epoch int64, c *outbox.Claim) (*outbox.Flight, error) {
	for {
		all, lanes, err := s.candidates(ctx, tx, c)
		if err != nil {
			return nil, err
		}
		holders, err := s.holders(ctx, tx, lanes)
		if err != nil {
			return nil, err
		}
		f := &outbox.Flight{Epoch: epoch, Topic: c.Topic}
		var held, chosen []int64
		var bytes int64
		full := false
		for _, r := range all {
			if first, ok := holders[r.lane.Int64]; ok && r.lane.Valid && first < r.Position {
				held = append(held, r.Position)
				continue
			}
			alone := r.Blamed > 0 || r.Attempts > 2
			bytes += r.bytes
			if n := len(f.Refs); full || n > 0 && (n >= c.Events || bytes > c.Bytes || alone) {
				full = true
				continue
			}
			full = alone
			f.Refs, chosen = append(f.Refs, r.Ref), append(chosen, r.Position)
		}
		if len(held) > 0 {
			if _, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET state = 3 WHERE position IN `+among(held))); err != nil {
				return nil, err
			}
		}
		if len(f.Refs) == 0 {
			if len(held) > 0 {
				continue // other candidates may be free
			}
			return nil, nil
		}
		text, err := json.Marshal(chosen)
		if err != nil {
			return nil, err
		}
		result, err := tx.ExecContext(ctx, s.in(`INSERT INTO {schema}_flights (epoch, topic, since, positions) VALUES (?, ?, {now}, ?)`), epoch, c.Topic, string(text))
		if err != nil {
			return nil, err
		}
		f.ID, err = result.LastInsertId()
		return f, err
	}
}
