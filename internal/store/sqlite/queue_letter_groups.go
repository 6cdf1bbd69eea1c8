package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/queue"
)

// groupRow is a group of letters before its newest letter is read.
type groupRow struct {
	queue.Group
	id int64
}

func (s *queueStore) Groups(ctx context.Context, sel queue.Selection, limit int) ([]queue.Group, error) {
	// The statements below read one consistent state of the file.
	t, err := s.db.reader.BeginTx(ctx, nil)
	if err != nil {
		return nil, s.db.fault(ctx, err, "group dead letters")
	}
	defer t.Rollback() //nolint:errcheck // it only reads
	groups, err := s.groups(ctx, t, sel, limit)
	return groups, s.db.fault(ctx, err, "group dead letters")
}

func (s *queueStore) groups(ctx context.Context, t *sql.Tx, sel queue.Selection, limit int) ([]queue.Group, error) {
	where, args, err := choose(sel)
	if err != nil {
		return nil, err
	}
	var q query
	if whole(sel) {
		// The counts are stored; first and last are at the ends of an index.
		q.add(`SELECT g.id, q.name, g.grp, g.n, g.redriven,
			(SELECT min(died) FROM queue_deaths d WHERE d.gid = g.id), (SELECT max(died) FROM queue_deaths d WHERE d.gid = g.id) AS newest
			FROM queues q JOIN queue_letter_groups g ON g.bucket = q.bucket`)
		if sel.Queue != "" {
			q.add(`WHERE q.name = ?`, sel.Queue)
		} else {
			q.add(`WHERE q.name <> ?`, queue.TrashQueue)
		}
	} else {
		q.add(`SELECT g.id, q.name, g.grp, count(*), sum(d.redriven), min(d.died), max(d.died) AS newest` + deaths + `
			JOIN queue_letter_groups g ON g.id = d.gid` + where + ` GROUP BY g.id`)
		q.args = append(q.args, args...)
	}
	q.add(`ORDER BY newest DESC, q.name, g.grp LIMIT ?`, limit)
	var found []groupRow
	err = q.each(ctx, t, func(rows *sql.Rows) error {
		var g groupRow
		var first, last int64
		err := rows.Scan(&g.id, &g.Queue, &g.Key, &g.Count, &g.Redriven, &first, &last)
		g.First, g.Last = record.Time(first), record.Time(last)
		found = append(found, g)
		return err
	})
	if err != nil {
		return nil, err
	}
	from := inGroup + ` CROSS JOIN queues q ON d.bucket = q.bucket ` + where + ` AND d.gid = ?`
	if whole(sel) {
		from, args = inGroup+` WHERE d.gid = ?`, nil
	}
	out := make([]queue.Group, len(found))
	for i := range found {
		if err := found[i].read(ctx, t, from, args); err != nil {
			return nil, err
		}
		out[i] = found[i].Group
	}
	return out, nil
}

// whole reports whether a selection includes all letters of every known group.
func whole(s queue.Selection) bool {
	return len(s.Groups) == 0 && len(s.IDs) == 0 && s.Origin == "" && s.Class == "" && s.After.IsZero() && s.Before.IsZero() && s.Last == 0 &&
		!s.ByContent()
}

// inGroup selects the letters of one group by time of death.
const inGroup = ` FROM queue_deaths d INDEXED BY queue_deaths_by_time`

const hour = int64(time.Hour / time.Microsecond)

// read fills in the newest letter, and the times of the others' deaths. from selects the
// group's letters.
func (g *groupRow) read(ctx context.Context, t *sql.Tx, from string, args []any) error {
	var doc []byte
	args = append(slices.Clip(args), g.id)
	err := t.QueryRowContext(ctx, `SELECT d.id, (SELECT l.doc FROM queue_letters l WHERE l.bucket = d.bucket AND l.seq = d.seq)`+from+`
		ORDER BY d.died DESC, d.seq DESC LIMIT 1`, args...).Scan(&g.Sample, &doc)
	if err != nil {
		return err
	}
	letter, err := record.DecodeDeath(doc)
	if err != nil {
		return err
	}
	g.Origin, g.Outcome = letter.Origin, letter.Outcome
	now := time.Now().UnixMicro()
	if record.Hour(g.Last.UnixMicro(), now) < 0 {
		return nil
	}
	for h := range g.Hours {
		// As in record.Hour; the last hour also counts later deaths.
		after, until := now-int64(len(g.Hours)-h)*hour, now-int64(len(g.Hours)-1-h)*hour
		if h == len(g.Hours)-1 {
			until = 1<<63 - 1
		}
		err := t.QueryRowContext(ctx, `SELECT count(*)`+from+` AND d.died > ? AND d.died <= ?`, append(slices.Clip(args), after, until)...).Scan(&g.Hours[h])
		if err != nil {
			return err
		}
	}
	return nil
}
