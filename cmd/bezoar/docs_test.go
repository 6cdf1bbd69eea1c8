package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
)

// Every command of the guide to queues is run, in order. Its Python is run where
// boto3 is installed.
func TestQueueGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/queue.md")
	r.read(map[string][]string{
		"queue ls":           {"reports-dlq by verdict"},
		"db:deadlock":        {`"failure": "db:deadlock"`, `"failure": "curl"`, `"receives": 3`},
		"payloads":           {"no payload is suspected or quarantined"},
		"bezoar dlq groups":  {"invalid:no-such-report", "there is no report 7"},
		"--group":            {"would redrive 1 letter to broken", "bezoar dlq redrive --plan plan-"},
		"audit":              {"1 of 1 moved", "redrive.start"},
		"BezoarSchema":       {"minimum at $.report"},
		"WORK=":              {`"state":"queued"`, "urn:bezoar:problem:schema"},
		"config check":       {": ok"},
		"queue peek reports": {`{"report": 7}`},
		"bezoar backup":      {"copy.db: ", "bytes, checked"},
		"bezoar restore":     {"sqlite:other.db: restored from copy.db", "queues, "},
	})
}

// Every command of the guide to live settings is run, in order.
func TestLiveGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/live-config.md")
	r.read(map[string][]string{
		"config check":    {"live.yaml: ok", "3 attempts (2 while workers live) × 30s + 30s of waiting = 2m0s"},
		"config status":   {"running    version 1 from file", "live.yaml is what runs", "\n+    limits: [{rate: 50/s}]\n", "version 2 runs", "half of it"},
		"--base 1 ||":     {"there is a newer version: number 2", "settings:1:37: routes[0].fleet: there is no fleet \"nowhere\""},
		"config rollback": {"version 3 runs", "back to version 1", "--- version 2\n+++ version 3\n", "settings.rollback  settings version 3", "there is a newer version"},
		"override set":    {"rate × 0.1", "deny", "acme: 200"},
	})
	if !strings.Contains(r.printed, "thief: 4") {
		t.Error("the thief was served")
	}
}

// Every command of the guide to circuit breakers is run, in order.
func TestBreakerGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/breakers.md")
	r.read(map[string][]string{"breaker open": {
		"files  /pages/*  closed", "files /pages/* is open, forced until", "the circuit is forced open until", "files  /pages/*  open, forced",
		"files /pages/* is closed\n", "404\n",
	}})
}

// Every command of the guide to workers is run, in order.
func TestWorkGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/work.md")
	r.read(map[string][]string{
		"-- sh handler.sh":   {`ordered: {"order": 7, "price": 3}`, "2 messages: 1 done, 1 not done, in ", "there is no price in message"},
		"-- sh throttled.sh": {"throttled: quota of the day"},
	})
}

// The guide to crash reads a log, and prints what the page shows.
func TestCrashGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/crash.md")
	for _, b := range blocks(t, "../../docs/crash.md") {
		if b.lang == "text" {
			r.read(map[string][]string{"crash worker.log": {b.text}})
			return
		}
	}
	t.Error("docs/crash.md shows no output")
}

// What the guide checks signatures with takes those of alarms, and no others.
func TestQueueGuideChecksSignatures(t *testing.T) {
	r := newReader(t, "docs/queue.md")
	for _, b := range blocks(t, "../../docs/queue.md") {
		if b.note != "file=signature.py" {
			continue
		}
		now, body := time.Now(), []byte(`{"id": "1"}`)
		header := fmt.Sprintf("t=%d,v1=%s", now.Unix(), tell.Sign("hush", now, body))
		b.text += fmt.Sprintf("print(genuine(b'hush', %q, b'%s'), genuine(b'other', %[1]q, b'%[2]s'), genuine(b'hush', %[1]q, b'{}'))\n", header, body)
		if err := os.WriteFile(filepath.Join(r.dir, "signature.py"), []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.run(block{text: "python3 signature.py"}, []string{"True False False\n"})
		return
	}
	t.Error("docs/queue.md has no signature.py")
}

var setting = regexp.MustCompile("(?m)^\\| `([^`:]+)[^|]*\\| `?(\\w+)`? \\| `?([^`|]*?)`? \\|")

// The guide's table names every setting of a queue, and the defaults of Bezoar's
// own attributes are those that a new queue shows.
func TestQueueGuideNamesEverySetting(t *testing.T) {
	page, err := os.ReadFile("../../docs/queue.md")
	if err != nil {
		t.Fatal(err)
	}
	inFile, defaults := map[string]bool{}, map[string]string{}
	for _, m := range setting.FindAllStringSubmatch(string(page), -1) {
		inFile[m[1]] = true
		if strings.HasPrefix(m[2], "Bezoar") && m[3] != "none" {
			defaults[m[2]] = m[3]
		}
	}
	for _, key := range keys(reflect.TypeFor[config.Queue](), "") {
		if !inFile[key] && !strings.HasPrefix(key, "push.") {
			t.Errorf("docs/queue.md: the table of settings has no %s", key)
		}
	}
	if len(defaults) < 10 {
		t.Fatalf("docs/queue.md: the table has %d defaults of attributes, want all", len(defaults))
	}
	if shown := attributes(t, newBuilt(t, "docs/queue.md"), defaults); !reflect.DeepEqual(shown, defaults) {
		t.Errorf("docs/queue.md: these are the defaults: %v\nthe table says %v", shown, defaults)
	}
}

// keys are the keys of a settings struct, those of structs in it behind a dot.
func keys(of reflect.Type, before string) []string {
	var out []string
	for f := range of.Fields() {
		name, kind := f.Tag.Get("yaml"), f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch {
		case name == "-":
		case kind.Kind() == reflect.Struct:
			out = append(out, keys(kind, before+name+".")...)
		default:
			out = append(out, before+name)
		}
	}
	return out
}

// attributes asks a new queue for those that are named.
func attributes(t *testing.T, r *reader, named map[string]string) map[string]string {
	t.Helper()
	const endpoint = "http://127.0.0.1:9324"
	r.run(block{note: "background=" + endpoint + "/health", text: "./bezoar serve --store memory:"}, nil)
	var names []string
	for name := range named {
		names = append(names, name)
	}
	ask := func(action string, members map[string]any, answer any) {
		body, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.ports.Replace(endpoint), bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "AmazonSQS."+action)
		res, err := (&http.Client{Timeout: patience}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(answer); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", action, res.Status, err)
		}
	}
	var made struct {
		URL string `json:"QueueUrl"`
	}
	ask("CreateQueue", map[string]any{"QueueName": "new"}, &made)
	var got struct{ Attributes map[string]string }
	ask("GetQueueAttributes", map[string]any{"QueueUrl": made.URL, "AttributeNames": names}, &got)
	return got.Attributes
}

var (
	testName = regexp.MustCompile(`\bTest\w+`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// allTests are the names of all tests that there are.
func allTests(t *testing.T) (all []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			all = append(all, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The tests that ARCHITECTURE.md names, and those whose names it cuts short, are
// there.
func TestArchitectureNamesTestsThatAreThere(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	all := allTests(t)
	named := testName.FindAllString(string(page), -1)
	if len(named) < 20 {
		t.Fatalf("ARCHITECTURE.md names %d tests, want one for each law and more", len(named))
	}
	for _, name := range named {
		cut := strings.Contains(string(page), name+"…")
		if !slices.ContainsFunc(all, func(have string) bool { return have == name || cut && strings.HasPrefix(have, name) }) {
			t.Errorf("ARCHITECTURE.md names %s, which is not there", name)
		}
	}
}
