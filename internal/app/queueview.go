package app

import (
	"cmp"
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/queue"
)

// queueView gives the admin API access to the queues.
type queueView struct {
	*queue.Engine
	wire *sqs.Handler // knows attributes by their SQS names
}

var _ admin.Queues = queueView{}

func (v queueView) Queues(ctx context.Context, q queue.ListQuery) (adminapi.Queues, error) {
	q.Limit = cmp.Or(q.Limit, adminapi.MaxQueues)
	found, err := v.Engine.Queues(ctx, q)
	if err != nil {
		return adminapi.Queues{}, err
	}
	states := v.states(ctx)
	out := adminapi.Queues{Queues: make([]adminapi.Queue, 0, len(found))}
	if len(found) == q.Limit {
		out.Next = found[len(found)-1].Name
	}
	for _, q := range found {
		shown, err := v.show(ctx, q, states)
		if queue.CodeOf(err) == queue.ErrQueueNotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return adminapi.Queues{}, err
		}
		out.Queues = append(out.Queues, shown)
	}
	return out, nil
}

// states returns for each queue ("queue/NAME") and downstream group ("group/NAME") why it delivers nothing.
func (v queueView) states(ctx context.Context) map[string]string {
	states := map[string]string{}
	for _, c := range v.Engine.Conditions(ctx) {
		key := "queue/" + c.Queue
		if c.Group != "" {
			key = "group/" + c.Group
		}
		states[key] = c.State + ": " + c.Why
	}
	return states
}

func (v queueView) show(ctx context.Context, q queue.Queue, states map[string]string) (adminapi.Queue, error) {
	counts, err := v.Engine.Counts(ctx, q.Name)
	if err != nil {
		return adminapi.Queue{}, err
	}
	out := adminapi.Queue{
		Name: q.Name, FIFO: q.Settings.FIFO, Visible: counts.Visible, InFlight: counts.InFlight, Delayed: counts.Delayed,
		Oldest: adminapi.Duration(counts.Oldest.Round(time.Second)), DeadLetter: q.Settings.DeadLetter.Queue, Receives: q.Settings.DeadLetter.MaxReceives,
		Created: q.Created, Modified: q.Modified, Attributes: v.wire.Attributes(q), Tags: q.Tags, State: "ok",
	}
	if out.DeadLetter == "" {
		out.DeadLetter, out.Implicit = queue.ImplicitName(q.Name), true
	}
	for _, key := range []string{"queue/" + q.Name, "group/" + q.Settings.Downstream} {
		if why, ok := states[key]; ok {
			out.State = why
		}
	}
	return out, nil
}

func (v queueView) Queue(ctx context.Context, name string) (adminapi.Queue, error) {
	q, err := v.Engine.Queue(ctx, name)
	if err != nil {
		return adminapi.Queue{}, err
	}
	return v.show(ctx, q, v.states(ctx))
}

func (v queueView) CreateQueue(ctx context.Context, in adminapi.CreateQueue) (adminapi.Queue, error) {
	q, err := v.wire.Create(ctx, in.Name, in.Attributes, in.Tags)
	if err != nil {
		return adminapi.Queue{}, err
	}
	return v.show(ctx, q, nil)
}

func (v queueView) SetQueue(ctx context.Context, name string, in adminapi.SetQueue) (adminapi.Queue, error) {
	q, err := v.wire.Set(ctx, name, in.Attributes)
	if err != nil {
		return adminapi.Queue{}, err
	}
	return v.show(ctx, q, v.states(ctx))
}

func (v queueView) Send(ctx context.Context, name string, in []adminapi.Send) ([]adminapi.Sent, error) {
	batch := make([]queue.SendInput, len(in))
	for i, m := range in {
		batch[i] = queue.SendInput{Body: m.Body, Group: m.Group, Dedup: m.Dedup, Priority: m.Priority, Sender: "admin", Delay: (*time.Duration)(m.Delay)}
		batch[i].Attributes = strs(m.Attributes)
	}
	results, err := v.Engine.SendBatch(ctx, name, batch)
	if err != nil {
		return nil, err
	}
	return sentAs(results), nil
}

func (v queueView) SetAside(ctx context.Context, name string, in []adminapi.Part) ([]adminapi.Sent, error) {
	parts := make([]queue.PartInput, len(in))
	for i, p := range in {
		parts[i] = queue.PartInput{Body: p.Body, Attributes: strs(p.Attributes), Outcome: p.Outcome, Once: p.Once}
	}
	results, err := v.Engine.SetAside(ctx, name, parts)
	if err != nil {
		return nil, err
	}
	return sentAs(results), nil
}

// strs converts attributes to type String.
func strs(in map[string]string) map[string]queue.Attribute {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]queue.Attribute, len(in))
	for name, value := range in {
		out[name] = queue.Attribute{DataType: "String", String: value}
	}
	return out
}

func sentAs(results []queue.SendResult) []adminapi.Sent {
	out := make([]adminapi.Sent, len(results))
	for i, r := range results {
		if r.Err != nil {
			out[i].Error = r.Err.Error()
			continue
		}
		out[i] = adminapi.Sent{ID: r.ID, Sequence: r.Sequence, Duplicate: r.Duplicate}
	}
	return out
}

func (v queueView) Peek(ctx context.Context, name string, after int64, limit int) ([]adminapi.Message, error) {
	found, err := v.Engine.Peek(ctx, name, after, limit)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	out := make([]adminapi.Message, len(found))
	for i, m := range found {
		out[i] = adminapi.Message{
			ID: m.ID, Queue: name, Sequence: m.Sequence, State: "visible", Sent: m.Sent, VisibleAt: m.VisibleAt, Receives: m.Receives,
			Group: m.Group, Dedup: m.Dedup, Priority: m.Priority, Sender: m.Sender, Payload: m.Payload, Body: m.Body,
			Attributes: m.Attributes, Attempts: m.Attempts, Letter: m.Letter, Lineage: m.Lineage,
		}
		switch {
		case m.InFlight:
			out[i].State = "in-flight"
		case m.VisibleAt.After(now):
			out[i].State = "delayed"
		}
	}
	return out, nil
}

func (v queueView) EditMessage(ctx context.Context, name string, sequence int64, in adminapi.EditMessage) (string, error) {
	return v.Engine.EditMessage(ctx, name, sequence, queue.EditInput{Body: in.Body, Set: strs(in.Attributes)})
}

func (v queueView) Payloads(ctx context.Context, name string) ([]adminapi.Payload, error) {
	cases, err := v.Engine.Payloads(ctx, name, -1, maxPayloads)
	if err != nil {
		return nil, err
	}
	out := make([]adminapi.Payload, len(cases))
	for i, c := range cases {
		out[i] = adminapi.Payload{
			Queue: name, Payload: c.Payload, State: c.State.String(), Strikes: float64(c.Strikes) / 2, Since: time.UnixMicro(c.Since).UTC(),
			Class: c.Class, Failure: c.Failure, Reason: c.Reason,
		}
		if c.Until > 0 {
			out[i].Until = time.UnixMicro(c.Until).UTC()
		}
	}
	return out, nil
}

func (v queueView) Conditions(ctx context.Context) ([]adminapi.Condition, error) {
	conditions := v.Engine.Conditions(ctx)
	out := make([]adminapi.Condition, len(conditions))
	for i, c := range conditions {
		out[i] = adminapi.Condition{Kind: "outage", Name: c.Queue, State: c.State, Why: c.Why, Until: c.Until}
		if c.Group != "" {
			out[i].Kind, out[i].Name = "breaker", c.Group
		}
	}
	return out, nil
}

// maxPayloads bounds a list of payloads.
const maxPayloads = 1000
