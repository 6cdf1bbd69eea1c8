package flowfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

const whole = `
name: orders
params:
  day: 2026-11-29
  region: {required: true, help: where}
env: {TZ: UTC, DB_URL: {secret: env:DB_URL}, KEY: {secret: file:key}}
dir: work
deadline: 6h
schedule: {cron: 30 2 * * *, zone: Europe/Berlin, catch_up: 12h}
pools: {db: 4}
labels: {team: data}
on_dead_letter: [{webhook: "https://example.com/hook"}]
on_failure: [{command: [notify, --all]}, {mail: ops@example.com}]
tasks:
  wait:
    sensor: {sql: select true, dsn: {secret: env:DB_URL}, every: 5s, mode: reschedule}
  fetch:
    needs: [wait]
    command: [python3, fetch.py, "{{ .params.day }}"]
    retry: {attempts: 5, base: 2s, cap: 1m, jitter: equal}
    timeout: 10s
    memory: 256MiB
    poison: {after: 2, siblings: 5}
  load:
    needs: [fetch]
    each: {from: fetch}
    command: [sh, -c, "load {{ .item }} {{ (index .tasks \"fetch\").output | json }}"]
    pool: db
    concurrency_key: "{{ .params.region }}"
    dir: "{{ .item }}"
    poison: off
    retry: 1
  parts:
    each: {glob: "in/{{ .params.day }}/*.csv"}
    sift: {command: [python3, part.py], rows: "{{ .item }}", batch: 100}
  mail:
    needs: [load, parts]
    command: [mail]
    side_effect: true
    idempotency_key: "{{ .params.day }}"
    permit_failure: true
    runs_on: [office]
`

func TestParse(t *testing.T) {
	d, err := Parse("/srv/flows/x.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := flow.Definition{
		Name:   "orders",
		Params: []flow.Param{{Name: "day", Default: "2026-11-29"}, {Name: "region", Required: true, Help: "where"}},
		Env:    map[string]flow.Value{"TZ": {Text: "UTC"}, "DB_URL": {Secret: "env:DB_URL"}, "KEY": {Secret: "file:/srv/flows/key"}},
		Dir:    "/srv/flows/work", Deadline: 6 * time.Hour, Pools: map[string]int{"db": 4}, Labels: map[string]string{"team": "data"},
		Schedule:     &flow.Schedule{Cron: "30 2 * * *", Zone: "Europe/Berlin", CatchUp: 12 * time.Hour},
		OnDeadLetter: []flow.Hook{{Webhook: "https://example.com/hook"}},
		OnFailure:    []flow.Hook{{Command: []string{"notify", "--all"}}, {Mail: "ops@example.com"}},
		Tasks: []flow.Task{
			{Name: "wait", Sensor: &flow.Sensor{SQL: "select true", DSN: flow.Value{Secret: "env:DB_URL"}, Every: 5 * time.Second}},
			{
				Name: "fetch", Needs: []string{"wait"}, Command: []string{"python3", "fetch.py", "{{ .params.day }}"},
				Retry:   flow.Retry{Attempts: 5, Backoff: backoff.Config{Strategy: backoff.EqualJitter, Base: 2 * time.Second, Cap: time.Minute}},
				Timeout: 10 * time.Second, Memory: 256 << 20, Poison: flow.Poison{After: 2, Siblings: 5},
			},
			{
				Name: "load", Needs: []string{"fetch"}, Each: &flow.Each{From: "fetch"},
				Command: []string{"sh", "-c", `load {{ .item }} {{ (index .tasks "fetch").output | json }}`},
				Pool:    "db", Key: "{{ .params.region }}", Dir: "{{ .item }}", Poison: flow.Poison{Off: true}, Retry: flow.Retry{Attempts: 1},
			},
			{
				Name: "parts", Each: &flow.Each{Glob: "/srv/flows/work/in/{{ .params.day }}/*.csv"},
				Sift: &flow.Sift{Command: []string{"python3", "part.py"}, Rows: "{{ .item }}", Batch: 100},
			},
			{
				Name: "mail", Needs: []string{"load", "parts"}, Command: []string{"mail"}, SideEffect: true, Idempotent: "{{ .params.day }}",
				Permit: true, RunsOn: []string{"office"},
			},
		},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
}

// Each fault has its place, and says what to write instead.
func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string // each a whole line
	}{
		"unknown key": {"tasks: {a: {comand: [x]}}", []string{
			"f.yaml:1:13: tasks.a.comand: is not a known key — did you mean command?",
		}},
		"needs": {"tasks:\n  fetch: {command: [x]}\n  load:\n    command: [y]\n    needs: [fetsh]\n", []string{
			`f.yaml:5:13: tasks.load.needs[0]: there is no task "fetsh" — did you mean fetch?`,
		}},
		"many at once": {"deadline: 6\nschedule: {cron: 30 25 * * *, zone: Europe/Belin}\ntasks:\n  a:\n    command: ls -l\n    retry: {jitter: ful}\n  b:\n    func: x\n    timeout: -1s\n", []string{
			`f.yaml:1:11: deadline: "6" has no unit — write 6s for seconds, or another of ms, m, h, d`,
			`f.yaml:2:18: schedule.cron: "30 25 * * *": at character 4: hour: "25" is wrong, want 0 to 23 — write minute, hour, day of month, month and day of week`,
			`f.yaml:2:37: schedule.zone: there is no time zone "Europe/Belin" — write a name such as Europe/Berlin or UTC`,
			`f.yaml:5:14: tasks.a.command: is the value "ls -l", want a list — write [ls, -l]`,
			`f.yaml:6:21: tasks.a.retry.jitter: "ful" is not a choice here — did you mean full?`,
			`f.yaml:9:14: tasks.b.timeout: "-1s" is negative — write a number with ms, s, m, h or d, such as 30s`,
		}},
		"templates": {"params: {day: x}\ntasks:\n  a: {command: [x]}\n  b:\n    needs: [a]\n    command:\n      - \"{{ .params.dey }}\"\n      - \"{{ .item }}\"\n      - \"{{ .tasks.c.output }}\"\n      - \"{{ .tasks.a.outptu }}\"\n      - \"{{ .param.day }}\"\n      - \"{{ .run.day }}\"\n      - \"{{ if }}\"\n      - \"{{ range .tasks.a.outputs }}{{ .x }}{{ $.params.z }}{{ end }}\"\n      - \"{{ nothing 1 }}\"\n", []string{
			`f.yaml:7:9: tasks.b.command[0]: the flow has no parameter "dey" — did you mean day?`,
			`f.yaml:8:9: tasks.b.command[1]: names .item, and the task has no items here — add each to the task, or remove it`,
			`f.yaml:9:9: tasks.b.command[2]: the task does not need "c" — did you mean a?`,
			`f.yaml:10:9: tasks.b.command[3]: a task has no "outptu" — did you mean output?`,
			`f.yaml:11:9: tasks.b.command[4]: there is no ."param" — did you mean .params?`,
			`f.yaml:12:9: tasks.b.command[5]: a run has no "day" — write id, flow, due, date or time`,
			`f.yaml:13:9: tasks.b.command[6]: is not a template: 1: missing value for if — write {{ .params.NAME }}, {{ .item }}, {{ .run.date }} or {{ .tasks.NAME.output }}`,
			`f.yaml:14:9: tasks.b.command[7]: the flow has no parameter "z" — add it to params`,
			`f.yaml:15:9: tasks.b.command[8]: is not a template: 1: function "nothing" not defined — use date, join, json, lines, lower, replace, trim, upper, or a function of Go's templates`,
		}},
		"dashes": {"tasks:\n  a-b: {command: [x]}\n  c: {needs: [a-b], command: [\"{{ .tasks.a-b.output }}\"]}\n", []string{
			`f.yaml:3:31: tasks.c.command[0]: is not a template: 1: bad character U+002D '-' — a name with - or . is written (index .tasks "a-b").output`,
		}},
		"cycle": {"tasks:\n  a: {needs: [c], command: [x]}\n  b: {needs: [a], command: [x]}\n  c: {needs: [b], command: [x]}\n", []string{
			"f.yaml:2:14: tasks.a.needs: the tasks need each other in a circle:\n" +
				"    ┌─► a\n    │     needs c\n    │       needs b\n    └──       needs a — remove one of these needs",
		}},
		"hooks and sensors": {"on_failure: [{}, {webhook: x}, {mail: x}]\ntasks:\n  a: {sensor: {}}\n  b: {sensor: {sql: select 1}}\n  c: {sift: {}}\n  d: {env: {A: {secret: vault:x}}, command: [x]}\n  e: {side_effect: true, command: [x]}\n", []string{
			`f.yaml:1:14: on_failure[0]: tells 0 ways — write one of command, webhook and mail`,
			`f.yaml:1:28: on_failure[1].webhook: "x" is not a URL — write https://HOST/PATH`,
			`f.yaml:1:39: on_failure[2].mail: "x" is not an address — write NAME@HOST`,
			`f.yaml:3:15: tasks.a.sensor: waits for 0 things — write one of command, file, http and sql`,
			`f.yaml:4:15: tasks.b.sensor: asks no database — add dsn: {secret: env:NAME}, or a postgres:// or sqlite: URL`,
			`f.yaml:5:13: tasks.c.sift.command: is missing — add command: [PROGRAM, ARGUMENT]`,
			`f.yaml:5:13: tasks.c.sift.rows: is missing — add rows: FILE`,
			`f.yaml:6:25: tasks.d.env.A.secret: "vault:x" is not a reference to a secret — write env:NAME or file:PATH`,
			`f.yaml:7:6: tasks.e.idempotency_key: a side effect needs a key: it happens once for each value of the key`,
		}},
		"empty": {"", []string{"f.yaml: tasks: there is none, want at least one"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(tc.text))
			faults, ok := errors.AsType[*config.Faults](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, f := range faults.List {
				got = append(got, f.Error())
			}
			if a, b := strings.Join(got, "\n"), strings.Join(tc.want, "\n"); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b.yaml", "tasks: {t: {command: [x]}}")
	write("a.yml", "tasks: {t: {command: [x]}}")
	write("notes.txt", "none")
	write(".hidden.yaml", "none")
	files, err := Reread(dir, nil)
	all := files.Definitions()
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" || all[0].Dir != dir {
		t.Fatalf("%+v, %v", all, err)
	}
	write("c.yaml", "name: a\ntasks: {t: {command: [x]}}")
	write("d.yaml", "tasks: {t: {}}")
	_, err = Reread(dir, nil)
	if err == nil || !strings.Contains(err.Error(), "the flow a is also in") || !strings.Contains(err.Error(), "d.yaml:1:") {
		t.Errorf("error %v", err)
	}
}

// BenchmarkParse reads a flow with as many tasks as there may be.
func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	text.WriteString("tasks:\n  t0: {command: [x]}\n")
	for i := 1; i < flow.MaxTasks; i++ {
		fmt.Fprintf(&text, "  t%d: {needs: [t%d], command: [x, \"{{ .run.id }}\"]}\n", i, i/2)
	}
	for b.Loop() {
		if _, err := Parse("x.yaml", []byte(text.String())); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReread(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := func(f Files) (all []string) {
		for _, d := range f.Definitions() {
			all = append(all, d.Name+" "+d.Tasks[0].Name)
		}
		return all
	}
	write("a.yaml", "tasks: {one: {command: [x]}}")
	write("b.yaml", "tasks: {one: {command: [x]}}")
	write("c.yaml", "tasks: {one: {command: [x]}}")
	was, err := Reread(dir, nil)
	if err != nil || len(was) != 3 {
		t.Fatalf("%v, %v", names(was), err)
	}
	write("a.yaml", "tasks: {two: {command: [x]}}")
	write("b.yaml", "tasks: {two: {comand: [x]}}")
	write("c.yaml", "name: a\ntasks: {two: {command: [x]}}") // it is in a.yaml
	write("d.yaml", "tasks: {}")
	is, err := Reread(dir, was)
	if want := []string{"a two", "b one", "c one"}; !slices.Equal(names(is), want) {
		t.Errorf("the flows are %v, want %v", names(is), want)
	}
	for _, want := range []string{"b.yaml:1:", "c.yaml: the flow a is also in", "d.yaml"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that it names %s", err, want)
		}
	}
	write("e.yaml", "name: b\ntasks: {three: {command: [x]}}") // the name is free: b.yaml has no flow that can be read
	if is, _ = Reread(dir, is); !slices.Equal(names(is), []string{"a two", "c one", "b three"}) {
		t.Errorf("the flows are %v", names(is))
	}
	if is, err := Reread(filepath.Join(dir, "none"), was); err == nil || len(is) != 3 {
		t.Errorf("%v, %v, want what was there", names(is), err)
	}
}

// The functions that a hint names are there.
func TestTheFunctionsOfAHint(t *testing.T) {
	for name := range strings.SplitSeq(functions, ", ") {
		if err := flow.CheckTemplate("{{ " + name + " }}"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
