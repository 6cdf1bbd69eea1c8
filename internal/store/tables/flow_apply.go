package tables

import (
	"context"
	"fmt"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// holdsNode finds a node whose lease is current.
const holdsNode = `SELECT 1 FROM {schema}.flow_nodes WHERE name = $1 AND epoch = $2 AND until > {now}`

// Apply implements [flow.Runs].
func (s Flow) Apply(ctx context.Context, h flow.Hold, b flow.Batch) (flow.Applied, error) {
	texts, err := encodeBatch(b)
	if err != nil {
		return flow.Applied{}, err
	}
	var done flow.Applied
	err = s.Grow(ctx, func(t Tx) error {
		if err := hold(t, h, b); err != nil {
			return err
		}
		if err := before(t, b, texts); err != nil {
			return err
		}
		var next Batch
		begun, left, err := begin(t, &next, b.Begin)
		if err != nil {
			return err
		}
		done = begun
		instances, err := instanceRows(b.Instances, left)
		if err != nil {
			return err
		}
		next.addRows(putInstances, instances)
		next.addRows(`UPDATE {schema}.flow_attempts AS a SET stop = u.stop FROM {rows 1: token bigint, stop text}
			WHERE a.token = u.token AND a.state <> 'ended' AND a.stop = ''`, texts.stops)
		next.addRows(`DELETE FROM {schema}.flow_orders WHERE id IN (SELECT u.id FROM {rows 2: id bigint})
			AND run IN (SELECT id FROM {schema}.flow_runs WHERE owner = $1)`, texts.orders, h.Node)
		return t.Run(next)
	})
	if err != nil {
		return flow.Applied{}, s.fault(ctx, err, "write a step of %d runs as node %s", len(h.Runs), h.Node)
	}
	return done, nil
}

// batchRows holds rows of a batch, encoded before the transaction.
type batchRows struct{ runs, stops, orders Rows }

func encodeBatch(b flow.Batch) (rows batchRows, err error) {
	for _, r := range b.Runs {
		pages, err := record.EncodePages(r.Pages)
		if err != nil {
			return rows, err
		}
		rows.runs.add(r.ID, string(r.State), text(r.Why), record.Micros(r.Deadline), record.Micros(r.Ended), r.Version, pages, r.State.Over() && r.Untold())
	}
	for _, stop := range b.Stop {
		doc, err := record.EncodeStop(stop)
		if err != nil {
			return rows, err
		}
		rows.stops.add(stop.Token, doc)
	}
	for _, id := range b.Done {
		rows.orders.add(id)
	}
	return rows, nil
}

// hold checks that the node may change the objects of the batch, and prevents other nodes from
// taking them until the transaction ends.
func hold(t Tx, h flow.Hold, b flow.Batch) error {
	runs := b.Touches()
	held := make(map[string]int64, len(runs))
	alive := false
	var all Batch
	if len(runs) > 0 {
		var rows Rows
		for _, id := range runs {
			rows.add(id)
		}
		all.ask(`SELECT id, epoch FROM {schema}.flow_runs WHERE owner = $1 AND id IN (SELECT u.id FROM {rows 2: id text}) ORDER BY id{lock}`,
			[]any{h.Node, rows}, func(scan record.Scan) error {
				var id string
				var epoch int64
				err := scan(&id, &epoch)
				held[id] = epoch
				return err
			})
	}
	all.ask(holdsNode, []any{h.Node, h.Epoch}, func(record.Scan) error {
		alive = true
		return nil
	})
	if err := t.Run(all); err != nil {
		return err
	}
	if !alive {
		return fmt.Errorf("the lease of node %s: %w", h.Node, flow.ErrFenced)
	}
	for _, id := range runs {
		epoch, ok := h.Runs[id]
		if is, holds := held[id]; !ok || !holds || is != epoch {
			return fmt.Errorf("run %s: %w", id, flow.ErrFenced)
		}
	}
	return t.Lock(namesOf(b.Begin))
}

// namesOf returns the names to lock for counting and taking slots.
func namesOf(all []flow.Attempt) (names []string) {
	for _, a := range all {
		if a.Pool != "" {
			names = append(names, "pool\x00"+a.Pool)
		}
		if a.Key != "" {
			names = append(names, "key\x00"+a.Key)
		}
	}
	return names
}

// before writes the part of the batch that precedes the start of attempts.
func before(t Tx, b flow.Batch, texts batchRows) error {
	if err := end(t, b.End, ""); err != nil {
		return err
	}
	var first Batch
	first.addRows(`UPDATE {schema}.flow_runs AS r SET state = u.state, why = u.why, deadline = u.deadline, ended = u.ended,
			version = u.version, pages = u.pages, untold = u.untold
		FROM {rows 1: id text, state text, why text, deadline bigint, ended bigint, version bigint, pages text, untold boolean}
		WHERE r.id = u.id`, texts.runs)
	first.addRows(`DELETE FROM {schema}.flow_effects WHERE key IN (SELECT u.key FROM {rows 1: key bytea})`, bytesOf(b.Free))
	return t.Run(first)
}

func bytesOf(all []string) (rows Rows) {
	for _, one := range all {
		rows.add([]byte(one))
	}
	return rows
}

const (
	lockAttempts = `SELECT 1 FROM {schema}.flow_attempts WHERE token IN (SELECT u.token FROM {rows 1: token bigint}) AND state <> 'ended' ORDER BY token{lock}`
	// Finished attempts do not change, and lost ones do not change for the node that lost them.
	endAttempts = `UPDATE {schema}.flow_attempts AS a SET state = u.state, started = u.started, ended = u.ended, ending = u.ending
		FROM {rows 2: that bigint, state text, started bigint, ended bigint, ending text}
		WHERE a.token = u.that AND a.state <> 'ended' AND ($1 = '' OR a.node = $1 AND a.state <> 'lost')`
)

// end stores the progress or end of attempts, and the state of their effects. by is the node that
// must hold them; empty: any.
func end(t Tx, all []flow.Attempt, by string) error {
	var rows, tokens Rows
	effects := make(map[int64]flow.Attempt)
	for _, a := range all {
		ending, err := record.EncodeEnding(a)
		if err != nil {
			return err
		}
		rows.add(a.Token, string(a.State), record.Micros(a.Started), record.Micros(a.Ended), ending)
		tokens.add(a.Token)
		if a.Effect != "" && a.State == flow.AttemptEnded {
			effects[a.Token] = a
		}
	}
	if len(rows) == 0 {
		return nil
	}
	changes := Batch{{Statement: lockAttempts, Args: []any{tokens}, Locks: true}}
	if len(effects) == 0 {
		changes.addRows(endAttempts, rows, by)
		return t.Run(changes)
	}
	var done, gone Rows
	changes.ask(endAttempts+` RETURNING token`, []any{by, rows}, func(scan record.Scan) error {
		var token int64
		err := scan(&token)
		a, ok := effects[token]
		switch {
		case ok && a.Ending.Class == bezoar.Done:
			done.add([]byte(a.Effect), token, append([]byte{}, a.Ending.Output...))
		case ok && a.Ending.Class == bezoar.SpawnFailed:
			gone.add([]byte(a.Effect), token)
		}
		return err
	})
	if err := t.Run(changes); err != nil {
		return err
	}
	var b Batch
	b.addRows(`UPDATE {schema}.flow_effects AS e SET done = {true}, output = u.output
		FROM {rows 1: key bytea, token bigint, output bytea} WHERE e.key = u.key AND e.token = u.token`, done)
	b.addRows(`DELETE FROM {schema}.flow_effects WHERE (key, token) IN (SELECT u.key, u.token FROM {rows 1: key bytea, token bigint})`, gone)
	return t.Run(b)
}
