package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
)

// What holds a run's row for ever cannot keep the run: the transactions of nodes
// end by themselves.
func TestFlowTransactionsEnd(t *testing.T) {
	t.Parallel()
	c := postgres.Config{URL: server(t), Schema: newSchema(t)}
	db := open(t, c)
	r := flow.Run{ID: "01jd0000000000000000000000", Flow: "f", State: flow.RunRunning, Version: 1}
	if err := db.Flow().CreateRun(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{BeginQuery: postgres.BeginFlow})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), inSchema(c.Schema, `SELECT FROM {schema}.flow_runs FOR UPDATE`)); err != nil {
		t.Fatal(err)
	}
	if err := db.Flow().Order(t.Context(), flow.Order{Run: r.ID, Verb: flow.VerbCancel}); err != nil { // waits for the row
		t.Errorf("Order = %v", err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT`); err == nil {
		t.Error("the transaction has not ended")
	}
}
