package record

import (
	"errors"

	"github.com/bezoar-dev/bezoar/flow"
)

// Scan reads the columns of one row into dest.
type Scan = func(dest ...any) error

// The columns that [ScanRun] and [ScanAttempt] read, of a run r and an attempt a.
const (
	RunColumns = `r.id, r.flow, r.params, r.state, r.why, r.due, r.created, r.deadline, r.ended, r.key, r.backfill,
		r.owner, r.epoch, r.version, r.pages`
	AttemptColumns = `a.run, a.task, a.idx, a.n, a.token, a.node, a.pool, a.slots, a.key, a.state, a.started, a.ended, a.doc, a.stop, a.ending`
)

func scanRun(scan Scan, more ...any) (r flow.Run, err error) {
	var params, pages []byte
	var due, created, deadline, ended int64
	err = scan(append([]any{
		&r.ID, &r.Flow, &params, &r.State, &r.Why, &due, &created, &deadline, &ended, &r.Key, &r.Backfill, &r.Owner, &r.Epoch, &r.Version, &pages,
	}, more...)...)
	if err != nil {
		return r, err
	}
	r.Due, r.Created, r.Deadline, r.Ended = OrNone(due), OrNone(created), OrNone(deadline), OrNone(ended)
	if r.Params, err = DecodeValues(params); err != nil {
		return r, err
	}
	r.Pages, err = DecodePages(pages)
	return r, err
}

// ScanRun reads a run without its definition.
func ScanRun(scan Scan) (flow.Run, error) { return scanRun(scan) }

// ScanWholeRun reads a run and its definition, the last column.
func ScanWholeRun(scan Scan) (flow.Run, error) {
	var definition []byte
	r, err := scanRun(scan, &definition)
	if err != nil {
		return r, err
	}
	r.Definition, err = DecodeDefinition(definition)
	return r, err
}

func ScanAttempt(scan Scan) (a flow.Attempt, err error) {
	var key, doc, stop, ending []byte
	var started, ended int64
	err = scan(&a.Run, &a.Task, &a.Index, &a.N, &a.Token, &a.Node, &a.Pool, &a.Slots, &key, &a.State, &started, &ended, &doc, &stop, &ending)
	if err != nil {
		return a, err
	}
	a.Key, a.Started, a.Ended = string(key), OrNone(started), OrNone(ended)
	return a, errors.Join(DecodeAttempt(doc, &a), DecodeStop(stop, &a), DecodeEnding(ending, &a))
}

// ScanInstance reads the run, the task, the index, the state and the document of an instance.
func ScanInstance(scan Scan) (i flow.Instance, err error) {
	var doc []byte
	if err := scan(&i.Run, &i.Task, &i.Index, &i.State, &doc); err != nil {
		return i, err
	}
	return i, DecodeInstance(doc, &i)
}

// ScanOrder reads the id, the run, the time and the document of an order.
func ScanOrder(scan Scan) (o flow.Order, err error) {
	var at int64
	var doc []byte
	if err := scan(&o.ID, &o.Run, &at, &doc); err != nil {
		return o, err
	}
	o.At = OrNone(at)
	return o, DecodeOrder(doc, &o)
}

// ScanNode reads all columns of a node.
func ScanNode(scan Scan) (n flow.Node, err error) {
	var labels []byte
	var seen, until int64
	if err := scan(&n.Name, &n.Epoch, &labels, &n.Slots, &n.Plans, &seen, &until); err != nil {
		return n, err
	}
	n.Seen, n.Until = Time(seen), Time(until)
	n.Labels, err = DecodeLabels(labels)
	return n, err
}
