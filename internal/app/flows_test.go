package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
)

const twoTasks = `name: two
params: {who: {required: true}}
tasks:
  first: {command: [sh, -c, 'echo "hello {{.params.who}}"; echo -n done >"$BEZOAR_OUTPUT"']}
  second: {needs: [first], command: [echo, "{{.tasks.first.output}}"]}
`

// flowsIn makes a folder with one flow.
func flowsIn(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "two.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// flowRun starts a flow and waits until its run is no longer running.
func flowRun(t *testing.T, c *flowapi.Client, name string) flowapi.Run {
	t.Helper()
	r, err := c.Start(t.Context(), flowapi.Start{Flow: name, Params: map[string]string{"who": "you"}})
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); r.State == "RUNNING"; <-tick.C {
		if r, err = c.Run(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run does not end: %+v", r)
		}
	}
	return r
}

func TestServeFlows(t *testing.T) {
	dir := t.TempDir()
	settings := head(sqliteIn(dir), dir) + fmt.Sprintf("flows: %q\n", flowsIn(t, twoTasks))
	n := serve(t, settings)
	c := flowapi.NewClient(n.admin)
	all, err := c.Flows(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "two" {
		t.Fatalf("flows %+v, %v", all, err)
	}
	r := flowRun(t, c, "two")
	if r.State != "SUCCESS" {
		t.Fatalf("the run is %s: %s", r.State, r.Why)
	}
	attempts, err := c.Attempts(t.Context(), r.ID, flowapi.AttemptQuery{})
	if err != nil || len(attempts) != 2 {
		t.Fatalf("attempts %+v, %v", attempts, err)
	}
	for i, want := range []string{"hello you\n", "done\n"} {
		log, err := c.Logs(t.Context(), r.ID, attempts[i].Token, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(log)
		_ = log.Close()
		if err != nil || string(text) != want {
			t.Errorf("the log of task %d is %q, %v; want %q", i, text, err, want)
		}
	}
	did, err := n.admin.Audit(t.Context(), 0, 10)
	if err != nil || len(did) != 1 || did[0].Action != "flow.start" || did[0].Object != "flow two" || strings.Contains(string(did[0].Detail), "you") {
		t.Errorf("audit log %+v, %v", did, err)
	}
	n.stop()
	again := serve(t, settings) // the runs are there, under the same node
	if r, err = flowapi.NewClient(again.admin).Run(t.Context(), r.ID); err != nil || r.State != "SUCCESS" {
		t.Errorf("after a restart the run is %s, %v", r.State, err)
	}
}

func TestFlowsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	settings := head(sqliteIn(dir), dir) + fmt.Sprintf("flows: %q\n", flowsIn(t, "tasks: {a: {needs: [b], command: [x]}}\n"))
	cfg, err := config.Parse("test.yaml", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.New(t.Context(), cfg, app.Options{}); err == nil || !strings.Contains(err.Error(), "flows.dir") || !strings.Contains(err.Error(), "two.yaml:1:") {
		t.Errorf("New = %v, want the file and the place in it", err)
	}
}

// Attempts of tasks with labels run on the worker that has them.
func TestFlowWorker(t *testing.T) {
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	at := newDatabase(t, server)
	flows := strings.Replace(twoTasks, "second: {", "second: {runs_on: [gpu], ", 1)
	n := serve(t, head(at, t.TempDir())+fmt.Sprintf("flows: %q\n", flowsIn(t, flows)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		ended <- app.FlowWorker{Store: at, Dir: dir, Labels: []string{"gpu", "eu"}, Slots: 2, Log: slog.New(slog.DiscardHandler)}.Run(ctx)
	}()
	c := flowapi.NewClient(n.admin)
	r := flowRun(t, c, "two")
	if r.State != "SUCCESS" {
		t.Errorf("the run is %s: %s", r.State, r.Why)
	}
	attempts, err := c.Attempts(t.Context(), r.ID, flowapi.AttemptQuery{})
	if err != nil || len(attempts) != 2 {
		t.Fatalf("attempts %+v, %v", attempts, err)
	}
	name, err := os.ReadFile(filepath.Join(dir, "node"))
	if err != nil || attempts[1].Node != string(name) || attempts[0].Node == string(name) {
		t.Errorf("the tasks ran on %s and %s, want the second one on %s, %v", attempts[0].Node, attempts[1].Node, name, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the worker: %v", err)
	}
}

func TestFlowWorkerNeedsPostgres(t *testing.T) {
	err := app.FlowWorker{Store: "sqlite:x.db", Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "PostgreSQL") {
		t.Errorf("Run = %v, want what it needs", err)
	}
}

// SIGHUP reads the folder of flows again. A file with a fault keeps its flow.
func TestFlowsAreReadAgain(t *testing.T) {
	dir, flows := t.TempDir(), flowsIn(t, twoTasks)
	hangUp, log := make(chan struct{}), new(syncBuffer)
	n := serveWith(t, head(sqliteIn(dir), dir)+fmt.Sprintf("flows: %q\n", flows), app.Options{Restart: hangUp, Log: slog.New(slog.NewTextHandler(log, nil))})
	c := flowapi.NewClient(n.admin)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(flows, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("two.yaml", "tasks: {a: {comand: [x]}}\n")
	write("more.yaml", "tasks: {only: {command: ['true']}}\n")
	hangUp <- struct{}{}
	names := func() (all []string) {
		known, err := c.Flows(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range known {
			all = append(all, f.Name)
		}
		return all
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !slices.Equal(names(), []string{"more", "two"}); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("the flows are %v", names())
		}
	}
	for _, name := range []string{"more", "two"} { // the one as it was before
		r, err := c.Start(t.Context(), flowapi.Start{Flow: name, Params: map[string]map[string]string{"two": {"who": "you"}}[name]})
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(patience); r.State == "RUNNING"; <-tick.C {
			if r, err = c.Run(t.Context(), r.ID); err != nil || time.Now().After(deadline) {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
		}
		if r.State != "SUCCESS" {
			t.Errorf("%s is %s: %s", name, r.State, r.Why)
		}
	}
	if text := log.String(); !strings.Contains(text, "two.yaml:1:") || !strings.Contains(text, "changed=[more]") {
		t.Errorf("the log says neither the fault nor what has changed:\n%s", text)
	}
}
