package cli

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the driver of the script's database

	"github.com/bezoar-dev/bezoar/outbox"
)

func shopOf(ts *testscript.TestScript, file string) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(file)+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	ts.Check(err)
	ts.Defer(func() { _ = db.Close() })
	return db
}

// writeEvents runs "writeevents FILE TOPIC KEY PAYLOAD...": an application that writes
// events in one transaction. The payload large is more than a queue takes.
func writeEvents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: writeevents FILE TOPIC KEY PAYLOAD...")
	}
	ctx := context.Background()
	tx, err := shopOf(ts, args[0]).BeginTx(ctx, nil)
	ts.Check(err)
	for _, payload := range args[3:] {
		if payload == "large" {
			payload = strings.Repeat("x", 2<<20)
		}
		ts.Check(outbox.Write(ctx, outbox.SQLite(tx), outbox.Event{Topic: args[1], Key: args[2], Payload: []byte(payload)}))
	}
	ts.Check(tx.Commit())
}

// awaitParked runs "awaitparked FILE N WAITING": until N events are parked and WAITING
// are not delivered, those included. EVENT is the ID of the first parked one.
func awaitParked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: awaitparked FILE N WAITING")
	}
	want := args[1] + " " + args[2]
	db := shopOf(ts, args[0])
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		var parked, waiting int
		var first sql.NullString
		ts.Check(db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE state = 2), count(*),
			(SELECT id FROM bezoar_outbox_events WHERE position = (SELECT min(position) FROM bezoar_outbox_pending WHERE state = 2)) FROM bezoar_outbox_pending`).Scan(&parked, &waiting, &first))
		if strconv.Itoa(parked)+" "+strconv.Itoa(waiting) == want {
			ts.Setenv("EVENT", first.String)
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}
