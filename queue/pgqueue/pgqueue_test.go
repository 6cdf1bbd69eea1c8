package pgqueue_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/queue/pgqueue"
)

func TestSend(t *testing.T) {
	url := os.Getenv("BEZOAR_TEST_POSTGRES")
	if url == "" {
		t.Skip("BEZOAR_TEST_POSTGRES names no database; scripts/with-servers starts one")
	}
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(ctx, url)
	check(err)
	schema := "q_" + strings.ToLower(rand.Text())[:12]
	t.Cleanup(func() {
		_, err := conn.Exec(context.Background(), `DROP TABLE IF EXISTS `+schema+`_orders; DROP SCHEMA `+schema+` CASCADE`, pgx.QueryExecModeSimpleProtocol)
		if err := errors.Join(err, conn.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	db, err := postgres.Open(ctx, postgres.Config{URL: url, Schema: schema})
	check(err)
	defer db.Close()
	engine, err := queue.New(queue.Config{}, db.Queue())
	check(err)
	for _, name := range []string{"invoices", "steps.fifo"} {
		settings := queue.DefaultSettings()
		settings.FIFO = strings.HasSuffix(name, ".fifo")
		_, err = engine.CreateQueue(ctx, name, settings, nil)
		check(err)
	}
	s, err := pgqueue.Open(ctx, pgqueue.Config{URL: url, Schema: schema})
	check(err)
	defer s.Close()
	_, err = conn.Exec(ctx, `CREATE TABLE `+schema+`_orders (id int)`)
	check(err)

	undo := errors.New("undo")
	for _, end := range []error{undo, nil} {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO `+schema+`_orders VALUES (1)`); err != nil {
				return err
			}
			results, err := s.Send(ctx, tx, "invoices", queue.SendInput{Body: []byte("first")}, queue.SendInput{}, queue.SendInput{Body: []byte("second")})
			if err != nil || results[0].Err != nil || results[1].Err == nil || results[2].Err != nil {
				t.Fatalf("%+v, %v", results, err)
			}
			for range 2 { // the second is a duplicate
				if _, err := s.Send(ctx, tx, "steps.fifo", queue.SendInput{Body: []byte("step"), Group: "1", Dedup: "1"}); err != nil {
					return err
				}
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
		want := map[string]int{"invoices": 2, "steps.fifo": 1}
		for name, n := range want {
			got, err := engine.Receive(ctx, name, queue.ReceiveInput{Max: 10})
			check(err)
			if end != nil {
				n = 0
			}
			if len(got) != n {
				t.Fatalf("%d messages in %s after %v, want %d", len(got), name, end, n)
			}
		}
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := s.Send(ctx, tx, "no-such-queue", queue.SendInput{Body: []byte("x")})
		return err
	})
	if !errors.Is(err, queue.ErrQueueNotFound) {
		t.Fatal(err)
	}
}
