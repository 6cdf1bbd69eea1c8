package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// The settings file is what counts at every start: for the queues that it names,
// and for no others.
func TestQueueSettingsChangedBetweenStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	schema := filepath.Join(dir, "schema.json")
	if err := os.WriteFile(schema, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	base := head(sqliteIn(dir), dir)
	n := serve(t, base+`queues:
  jobs: {visibility: 1m, max_receive_count: 3, dead_letter: dead, retry: {base: 2s}, downstream: db}
  gone: {visibility: 7s}
  orders.fifo: {content_dedup: true}
`)
	n.sendMessage("jobs", "kept")
	n.call("SetQueueAttributes", map[string]any{"QueueUrl": n.queueURL("gone"), "Attributes": map[string]string{"DelaySeconds": "5"}}, nil)
	n.call("TagQueue", map[string]any{"QueueUrl": n.queueURL("jobs"), "Tags": map[string]string{"team": "search"}}, nil)
	n.call("SetQueueAttributes", map[string]any{"QueueUrl": n.queueURL("jobs"), "Attributes": map[string]string{"VisibilityTimeout": "99"}}, nil)
	before := n.queue("jobs")
	if before.Attributes["VisibilityTimeout"] != "99" || before.DeadLetter != "dead" || before.Receives != 3 {
		t.Errorf("before: %+v", before)
	}
	n.stop()

	n = serve(t, base+"queues:\n  jobs: {visibility: 2m, schema: "+schema+", expire: dead-letter}\n  orders.fifo: {}\n")
	jobs, gone := n.queue("jobs"), n.queue("gone")
	for name, want := range map[string]string{
		"VisibilityTimeout": "120", "BezoarSchema": `{"type":"object"}`, "BezoarExpire": "dead-letter", "BezoarDownstream": "", "BezoarRetryBase": "",
	} {
		if got := jobs.Attributes[name]; got != want {
			t.Errorf("jobs has %s %q, want %q", name, got, want)
		}
	}
	if jobs.DeadLetter != "jobs-dlq" || jobs.Receives != 5 || jobs.Tags["team"] != "search" || jobs.Visible != 1 || !jobs.Created.Equal(before.Created) {
		t.Errorf("after: %+v", jobs)
	}
	if gone.Attributes["VisibilityTimeout"] != "7" || gone.Attributes["DelaySeconds"] != "5" {
		t.Errorf("a queue that is no longer named has changed: %v", gone.Attributes)
	}
	if n.queue("orders.fifo").Attributes["ContentBasedDeduplication"] == "true" {
		t.Error("orders.fifo still deduplicates by content")
	}
	if n.queue("dead").Name != "dead" {
		t.Error("the dead-letter queue of before is gone")
	}
}

// Whatever the order of names: a dead-letter queue may be listed itself, and have
// one, too.
func TestDeadLetterQueuesThatAreListed(t *testing.T) {
	t.Parallel()
	n := serve(t, head("memory:", "")+`queues:
  a: {dead_letter: b, max_receive_count: 3}
  b: {visibility: 7s}
  c.fifo: {dead_letter: a.fifo, max_receive_count: 4}
  a.fifo: {dead_letter: d.fifo, max_receive_count: 5}
  d.fifo: {}
`)
	for name, want := range map[string]string{"a": "b", "c.fifo": "a.fifo", "a.fifo": "d.fifo"} {
		if got := n.queue(name).DeadLetter; got != want {
			t.Errorf("the dead letters of %s go to %q, want %q", name, got, want)
		}
	}
	if got := n.queue("b").Attributes["VisibilityTimeout"]; got != "7" {
		t.Errorf("b has a visibility of %s s, want 7", got)
	}
}

// A start that cannot be as the file says does not happen.
func TestQueueSettingsThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, tt := range map[string]struct{ queues, want string }{
		"no schema":          {"queues: {jobs: {schema: " + filepath.Join(dir, "none.json") + "}}", "queues.jobs.schema: "},
		"schema is no JSON":  {"queues: {jobs: {schema: " + write("bad.json", "{") + "}}", "jobs"},
		"schema is none":     {"queues: {jobs: {schema: " + write("odd.json", `{"type":7}`) + "}}", "jobs"},
		"schema is long":     {"queues: {jobs: {schema: " + write("long.json", `"`+strings.Repeat("a", 70<<10)+`"`) + "}}", "jobs"},
		"no key in its file": {"access_keys: {AKIA: {secret_file: " + write("empty", "\n") + "}}", "access_keys.AKIA.secret_file"},
		"no key file":        {"access_keys: {AKIA: {secret_file: " + filepath.Join(dir, "none") + "}}", "access_keys.AKIA.secret_file"},
		"no key variable":    {"access_keys: {AKIA: {secret_env: BEZOAR_APP_TEST_UNSET}}", "BEZOAR_APP_TEST_UNSET"},
		"no alarm secret":    {"alarms: {a: {depth_above: 0, webhook: 'http://127.0.0.1:1/', secret_env: BEZOAR_APP_TEST_UNSET}}", "BEZOAR_APP_TEST_UNSET"},
	} {
		cfg, err := config.Parse("test.yaml", []byte(head("memory:", "")+tt.queues+"\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a, err := app.New(t.Context(), cfg, app.Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if a != nil {
			t.Errorf("%s: an App beside the error", name)
		}
	}
}
