package main

import (
	"context"
	stdsql "database/sql"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	_ "github.com/jackc/pgx/v5/stdlib"
)

const forwardTopic = "bench_forwarder"

// counted publishes nowhere.
type counted struct {
	left atomic.Int64
	done chan struct{}
}

func (c *counted) Publish(_ string, messages ...*message.Message) error {
	if c.left.Add(-int64(len(messages))) == 0 {
		close(c.done)
	}
	return nil
}

func (c *counted) Close() error { return nil }

// watermillBacklog gives the forwarder the batch size of Bezoar's relay, and lets
// it poll as often.
func watermillBacklog(ctx context.Context, o options) (float64, error) {
	db, err := stdsql.Open("pgx", o.url)
	if err != nil {
		return 0, err
	}
	defer db.Close() //nolint:errcheck // of no effect
	drop := func() error {
		_, err := db.ExecContext(context.WithoutCancel(ctx), `DROP TABLE IF EXISTS "watermill_`+forwardTopic+`", "watermill_offsets_`+forwardTopic+`"`)
		return err
	}
	if err := drop(); err != nil {
		return 0, err
	}
	defer drop() //nolint:errcheck // the next run does it
	schema := sql.DefaultPostgreSQLSchema{SubscribeBatchSize: 1000}
	log := watermill.NopLogger{}
	subscriber, err := sql.NewSubscriber(sql.BeginnerFromStdSQL(db), sql.SubscriberConfig{
		SchemaAdapter: schema, OffsetsAdapter: sql.DefaultPostgreSQLOffsetsAdapter{}, InitializeSchema: true, PollInterval: 5 * time.Millisecond,
	}, log)
	if err != nil {
		return 0, err
	}
	defer subscriber.Close() //nolint:errcheck // of no effect
	if err := subscriber.SubscribeInitialize(forwardTopic); err != nil {
		return 0, err
	}
	for i := 0; i < o.events; i += 100 {
		if err := watermillWrite(ctx, db, schema, i, min(100, o.events-i), o.keys); err != nil {
			return 0, err
		}
	}
	sink := &counted{done: make(chan struct{})}
	sink.left.Store(int64(o.events))
	f, err := forwarder.NewForwarder(subscriber, sink, log, forwarder.Config{ForwarderTopic: forwardTopic})
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- f.Run(ctx) }()
	select {
	case <-sink.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	took := time.Since(began)
	if err := f.Close(); err != nil {
		return 0, err
	}
	return float64(o.events) / took.Seconds(), <-ended
}

func watermillWrite(ctx context.Context, db *stdsql.DB, schema sql.SchemaAdapter, from, n, keys int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // of no effect after Commit
	inner, err := sql.NewPublisher(sql.TxFromStdSQL(tx), sql.PublisherConfig{SchemaAdapter: schema}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	publisher := forwarder.NewPublisher(inner, forwarder.PublisherConfig{ForwarderTopic: forwardTopic})
	messages := make([]*message.Message, n)
	for i := range messages {
		messages[i] = message.NewMessage(watermill.NewUUID(), payload(from+i))
		messages[i].Metadata.Set("key", strconv.Itoa((from+i)%keys))
	}
	if err := publisher.Publish("orders.paid", messages...); err != nil {
		return err
	}
	return tx.Commit()
}
