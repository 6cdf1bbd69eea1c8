package triage_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// The service does on SQLite what it does in memory: lists beyond one page of the
// queue's, plans, moves, edits, exports and writes it all down.
func TestTheServiceOnSQLite(t *testing.T) {
	pace.Spare(t, "the tests of the service in memory")
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "q.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	engine, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		t.Fatal(err)
	}
	service, err := triage.New(triage.Config{Queue: engine})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- engine.Run(ctx) }()
	go func() { done <- service.Run(ctx) }()
	defer func() { cancel(); <-done; <-done }()

	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(engine.CreateQueue(ctx, jobs, queue.DefaultSettings(), nil))
	const n = 600
	for sent := 0; sent < n; {
		in := make([]queue.SendInput, min(n-sent, queue.MaxBatch))
		for i := range in {
			in[i].Body = fmt.Appendf(nil, "body number %d", sent+i)
		}
		must(engine.SendBatch(ctx, jobs, in))
		m, err := engine.Receive(ctx, jobs, queue.ReceiveInput{Max: queue.MaxBatch})
		must(m, err)
		for _, one := range m {
			must(nil, engine.Reject(ctx, jobs, one.Receipt, queue.Outcome{Class: bezoar.Bug, Failure: "a"}))
		}
		sent += len(m)
	}
	page, err := service.Letters(ctx, queue.Selection{}, "", n-1)
	if err != nil || len(page.Letters) != n-1 || page.Next == "" {
		t.Fatalf("a page has %d letters, then %q, %v", len(page.Letters), page.Next, err)
	}
	if page, err = service.Letters(ctx, queue.Selection{}, page.Next, 0); err != nil || len(page.Letters) != 1 || page.Next != "" {
		t.Fatalf("the last page has %d letters, then %q, %v", len(page.Letters), page.Next, err)
	}
	var out bytes.Buffer
	if exported, err := service.Export(ctx, ann, &out, queue.Selection{}); err != nil || exported != n || bytes.Count(out.Bytes(), []byte("\n")) != n {
		t.Fatalf("exported %d, %v", exported, err)
	}
	l, err := service.Letter(ctx, page.Letters[0].ID)
	must(l, err)
	must(service.EditLetter(ctx, ann, l.ID, triage.Edit{Version: l.Version, Body: text("mended")}))
	p, err := service.Plan(ctx, ann, triage.Discard, queue.Selection{Groups: []string{"bug:a"}}, triage.Options{Rate: queue.MaxTriageRate})
	must(p, err)
	tasks, err := service.Execute(ctx, ann, p.ID)
	must(tasks, err)
	if task := watch(t, service, tasks[0].ID, func(triage.Task) {}); task.Moved != n-1 {
		t.Errorf("the task is %+v", task)
	}
	if trash, err := service.Count(ctx, queue.Selection{Queue: queue.TrashQueue}); err != nil || trash != n {
		t.Errorf("the trash holds %d, %v", trash, err)
	}
	if log, err := service.AuditLog(ctx, 0, 0); err != nil || len(log) < 4 {
		t.Errorf("the log is %+v, %v", log, err)
	}
}
