package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

type rabbit struct {
	at   string
	conn *amqp091.Connection
	ch   *amqp091.Channel
	name string
	n    int // messages at a time
}

// fillRabbit makes a durable classic queue at the server that BEZOAR_TEST_RABBITMQ
// names.
func fillRabbit(at int) func(ctx context.Context, n int) (queue, error) {
	return func(ctx context.Context, n int) (queue, error) {
		r := &rabbit{at: os.Getenv("BEZOAR_TEST_RABBITMQ"), name: fmt.Sprint("bench-", time.Now().UnixNano()), n: at}
		var err error
		if r.conn, err = amqp091.Dial(r.at); err == nil {
			r.ch, err = r.conn.Channel()
		}
		if err == nil {
			_, err = r.ch.QueueDeclare(r.name, true, false, false, false, nil)
		}
		if err == nil {
			err = r.ch.Confirm(false)
		}
		if err != nil {
			return nil, err
		}
		var last *amqp091.DeferredConfirmation
		for i := range n {
			body := fmt.Appendf(nil, `{"order": %d, "price": 12, "note": "a body like no other"}`, i)
			last, err = r.ch.PublishWithDeferredConfirmWithContext(ctx, "", r.name, true, false, amqp091.Publishing{Body: body, DeliveryMode: amqp091.Persistent})
			if err != nil {
				return nil, err
			}
		}
		if ok, err := last.WaitContext(ctx); err != nil || !ok {
			return nil, errors.Join(err, errors.New("the broker did not confirm the messages"))
		}
		return r, nil
	}
}

func (r *rabbit) url() string { return r.at + "/" + r.name }

func (r *rabbit) close() {
	for _, q := range []string{r.name, r.name + "-dlq"} {
		_, _ = r.ch.QueueDelete(q, false, false, false) // the server is the benchmark's own
	}
	_ = r.conn.Close()
}

// bare has as many messages given to it as run at a time, and acknowledges each.
func (r *rabbit) bare(_ context.Context, n int, run func([]byte) error) error {
	ch, err := r.conn.Channel()
	if err != nil {
		return err
	}
	defer func() { _ = ch.Close() }()
	if err := ch.Qos(r.n, 0, false); err != nil {
		return err
	}
	got, err := ch.Consume(r.name, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, n)
	for range n {
		d, ok := <-got
		if !ok {
			return errors.New("the consumer was cancelled")
		}
		go func() {
			err := run(d.Body)
			if err == nil {
				err = d.Ack(false)
			}
			ended <- err
		}()
	}
	for range n {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}
