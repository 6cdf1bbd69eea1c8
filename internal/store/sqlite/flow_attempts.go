package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const (
	offered       = `SELECT ` + record.AttemptColumns + ` FROM flow_attempts a WHERE node = '' AND state = 'intended' AND stop = '' AND token > ? ORDER BY token LIMIT ?`
	getAttempt    = `SELECT ` + record.AttemptColumns + ` FROM flow_attempts a WHERE run = ? AND task = ? AND idx = ? AND n = ?`
	claimAttempt  = `UPDATE flow_attempts SET node = ? WHERE run = ? AND task = ? AND idx = ? AND n = ?`
	reportAttempt = updateAttempt + ` AND node = ? AND state <> 'lost'`
	offersPage    = 100
)

func (s *flowStore) Offers(ctx context.Context, n flow.Node, most int) ([]flow.Attempt, error) {
	var held, open bool // usually there are none: this avoids a transaction
	err := s.db.reader.QueryRowContext(ctx, `SELECT EXISTS (`+holdsNode+`),
		EXISTS (SELECT 1 FROM flow_attempts WHERE node = '' AND state = 'intended' AND stop = '')`, n.Name, n.Epoch, time.Now().UnixMicro()).Scan(&held, &open)
	if err != nil || held && !open {
		return nil, s.db.fault(ctx, err, "look for attempts")
	}
	var claimed []flow.Attempt
	fenced := false
	err = s.db.writer.run(ctx, func(t tx) error {
		claimed = nil
		held, err := exists(t, holdsNode, n.Name, n.Epoch, time.Now().UnixMicro())
		if fenced = !held; err != nil || fenced {
			return err
		}
		claimed, err = offers(t, n, most)
		return err
	})
	if err != nil {
		return nil, s.db.fault(ctx, err, "claim attempts")
	}
	if fenced {
		return nil, fmt.Errorf("claim attempts as node %s: %w", n.Name, flow.ErrFenced)
	}
	return claimed, nil
}

func offers(t tx, n flow.Node, most int) (claimed []flow.Attempt, err error) {
	for after := int64(0); len(claimed) < most; {
		page := 0
		err := t.each(offered, []any{after, offersPage}, func(rows *sql.Rows) error {
			a, err := record.ScanAttempt(rows.Scan)
			if err != nil {
				return err
			}
			page, after = page+1, a.Token
			if len(claimed) < most && flow.HasAll(n.Labels, a.Labels) {
				a.Node = n.Name
				claimed = append(claimed, a)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if page < offersPage {
			break
		}
	}
	for _, a := range claimed {
		if err := t.exec(claimAttempt, n.Name, a.Run, a.Task, a.Index, a.N); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

func (s *flowStore) Report(ctx context.Context, n flow.Node, all []flow.Attempt) error {
	endings := make([]string, len(all))
	for i, a := range all {
		var err error
		if endings[i], err = record.EncodeEnding(a); err != nil {
			return err
		}
	}
	fenced := false
	err := s.db.writer.grow(ctx, func(t tx) error {
		held, err := exists(t, holdsNode, n.Name, n.Epoch, time.Now().UnixMicro())
		if fenced = !held; err != nil || fenced {
			return err
		}
		for i, a := range all {
			if err := endAttempt(t, a, endings[i], reportAttempt, n.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && fenced {
		return fmt.Errorf("report %d attempts as node %s: %w", len(all), n.Name, flow.ErrFenced)
	}
	return s.db.fault(ctx, err, "report %d attempts", len(all))
}

func (s *flowStore) ListAttempts(ctx context.Context, aq flow.AttemptQuery) ([]flow.Attempt, error) {
	var q query
	q.add(`SELECT `+record.AttemptColumns+` FROM flow_attempts a WHERE token > ?`, aq.After)
	switch open := aq.Open || aq.Node != ""; {
	case aq.Run != "" && open: // few are open: the + prevents use of the index of all attempts
		q.add(`AND +run = ? AND state <> 'ended'`, aq.Run)
	case aq.Run != "":
		q.add(`AND run = ?`, aq.Run)
	case open:
		q.add(`AND state <> 'ended'`)
	}
	if aq.Task != "" {
		q.add(`AND task = ?`, aq.Task)
		if aq.Index >= 0 {
			q.add(`AND idx = ?`, aq.Index)
		}
	}
	if aq.Node != "" {
		q.add(`AND node = ?`, aq.Node)
	}
	q.add(`ORDER BY token LIMIT ?`, aq.Most())
	found, err := collect(ctx, s.db.reader, &q, record.ScanAttempt)
	return found, s.db.fault(ctx, err, "list attempts")
}
