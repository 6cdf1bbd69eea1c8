package tables

import (
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const (
	// Attempts that already began, by their keys.
	begunAttempts = `SELECT ` + record.AttemptColumns + ` FROM {rows 1: run text, task text, idx bigint, n bigint}
		JOIN {schema}.flow_attempts a ON a.run = u.run AND a.task = u.task AND a.idx = u.idx AND a.n = u.n`
	usedPools = `SELECT pool, CAST(sum(slots) AS bigint) FROM {schema}.flow_attempts
		WHERE pool IN (SELECT u.name FROM {rows 1: name text}) AND pool <> '' AND state <> 'ended' GROUP BY pool`
	usedKeys = `SELECT key, count(*) FROM {schema}.flow_attempts
		WHERE key IN (SELECT u.name FROM {rows 1: name bytea}) AND key <> {bytes} AND state <> 'ended' GROUP BY key`
	takenEffects = `SELECT key, token, run, task, idx, done, output FROM {schema}.flow_effects
		WHERE key IN (SELECT u.key FROM {rows 1: key bytea})`
	putEffects = `INSERT INTO {schema}.flow_effects (key, token, run, task, idx, done, at)
		SELECT u.key, u.token, u.run, u.task, u.idx, NOT {true}, {now}
		FROM {rows 1: key bytea, token bigint, run text, task text, idx bigint} ORDER BY u.key`
	putAttempts = `INSERT INTO {schema}.flow_attempts ({labels}run, task, idx, n, token, node, pool, slots, key, state, started, ended, doc, stop, ending)
		SELECT {u.labels}u.run, u.task, u.idx, u.n, u.token, u.node, u.pool, u.slots, u.key, 'intended', 0, 0, u.doc, '', ''
		FROM {rows 1: run text, task text, idx bigint, n bigint, token bigint, node text, labels text, pool text, slots bigint, key bytea, doc text}
		ORDER BY u.run, u.task, u.idx`
)

type attemptKey struct {
	instanceKey
	n int
}

func keyOf(a flow.Attempt) attemptKey { return attemptKey{instanceKey{a.Run, a.Task, a.Index}, a.N} }

// standing is the state that begin needs for its decisions.
type standing struct {
	begun       map[attemptKey]flow.Attempt
	pools, keys map[string]int
	effects     map[string]flow.Effect
	tokens      []int64
}

// addUsed reads the number of slots in use by name.
func addUsed(b *Batch, statement string, names Rows, used map[string]int) {
	if len(names) == 0 {
		return
	}
	b.ask(statement, []any{names}, func(scan record.Scan) error {
		var name []byte
		var n int
		err := scan(&name, &n)
		used[string(name)] = n
		return err
	})
}

func stand(t Tx, all []flow.Attempt) (standing, error) {
	is := standing{
		begun: make(map[attemptKey]flow.Attempt), pools: make(map[string]int), keys: make(map[string]int), effects: make(map[string]flow.Effect),
	}
	var attempts, pools, keys, effects Rows
	for _, a := range all {
		attempts.add(a.Run, a.Task, int64(a.Index), int64(a.N))
		if a.Pool != "" {
			pools.add(a.Pool)
		}
		if a.Key != "" {
			keys.add([]byte(a.Key))
		}
		if a.Effect != "" {
			effects.add([]byte(a.Effect))
		}
	}
	var b Batch
	b.ask(begunAttempts, []any{attempts}, func(scan record.Scan) error {
		a, err := record.ScanAttempt(scan)
		is.begun[keyOf(a)] = a
		return err
	})
	b.ask(`{tokens}`, []any{len(all)}, func(scan record.Scan) error {
		is.tokens = append(is.tokens, 0)
		return scan(&is.tokens[len(is.tokens)-1])
	})
	addUsed(&b, usedPools, pools, is.pools)
	addUsed(&b, usedKeys, keys, is.keys)
	if len(effects) > 0 {
		b.ask(takenEffects, []any{effects}, func(scan record.Scan) error {
			var e flow.Effect
			var key []byte
			err := scan(&key, &e.Token, &e.Run, &e.Task, &e.Index, &e.Done, &e.Output)
			e.Key = string(key)
			is.effects[e.Key] = e
			return err
		})
	}
	err := t.Run(b)
	for len(is.tokens) > 0 && len(is.tokens) < len(all) { // a database with one writer returns the last one
		is.tokens = append([]int64{is.tokens[0] - 1}, is.tokens...)
	}
	return is, err
}

// begin adds to the batch the attempts that have slots and effects, and returns the instances of
// the others.
func begin(t Tx, batch *Batch, all []flow.Attempt) (done flow.Applied, left map[instanceKey]bool, err error) {
	if len(all) == 0 {
		return done, nil, nil
	}
	is, err := stand(t, all)
	if err != nil {
		return done, nil, err
	}
	left = make(map[instanceKey]bool)
	var slots record.Slots
	var effects, attempts Rows
	for n, a := range all {
		if there, ok := is.begun[keyOf(a)]; ok {
			done.Begun = append(done.Begun, there)
			if _, ok := is.effects[a.Effect]; !ok && a.Effect != "" && there.State != flow.AttemptEnded { // a repeated batch may have released it
				effects.add([]byte(a.Effect), there.Token, a.Run, a.Task, int64(a.Index))
			}
			continue
		}
		taken, ok := is.effects[a.Effect]
		if ok {
			done.Taken = append(done.Taken, taken)
		}
		fits := false
		if !ok {
			fits, err = slots.Take(a, func() (int, error) { return is.pools[a.Pool], nil }, func() (int, error) { return is.keys[a.Key], nil })
		}
		if err != nil {
			return done, nil, err
		}
		if !fits {
			left[keyOf(a).instanceKey] = true
			continue
		}
		a.Token, a.State = is.tokens[n], flow.AttemptIntended
		if a.Effect != "" {
			is.effects[a.Effect] = flow.Effect{Key: a.Effect, Token: a.Token, Run: a.Run, Task: a.Task, Index: a.Index}
			effects.add([]byte(a.Effect), a.Token, a.Run, a.Task, int64(a.Index))
		}
		if err := addAttempt(&attempts, a); err != nil {
			return done, nil, err
		}
		done.Begun = append(done.Begun, a)
	}
	batch.addRows(putEffects, effects)
	batch.addRows(putAttempts, attempts)
	return done, left, nil
}

func addAttempt(rows *Rows, a flow.Attempt) error {
	doc, err := record.EncodeAttempt(a)
	if err != nil {
		return err
	}
	labels, err := record.EncodeLabels(a.Labels)
	if err != nil {
		return err
	}
	rows.add(a.Run, a.Task, int64(a.Index), int64(a.N), a.Token, a.Node, labels, a.Pool, int64(a.Slots), []byte(a.Key), doc)
	return nil
}
