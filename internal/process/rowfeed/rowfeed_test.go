package rowfeed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/rows"
	"github.com/bezoar-dev/bezoar/sift"
)

func rowsOf(letters []Letter) string {
	var out []string
	for _, l := range letters {
		out = append(out, fmt.Sprintf("%d:%s", l.Row, l.Class))
	}
	return strings.Join(out, " ")
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		name, in  string
		cfg       Config
		out       string
		set       string // rows set aside, "row:class"
		runs      int    // 0 for any number
		uniq, err string
	}{
		{
			name: "a good input is one plain run", in: "b\na\nc\n",
			cfg: Config{Command: []string{"sort"}}, out: "a\nb\nc\n", runs: 1,
		},
		{
			name: "lines", in: numbers(100),
			cfg: Config{Command: awk("$1==7||$1==64")}, out: without(100, 7, 64), set: "7:bug 64:bug",
		},
		{
			name: "the output keeps the order of rows", in: numbers(2000),
			cfg: Config{Command: awk("$1%333==0"), Batch: 50, Parallel: 4}, out: without(2000, 333, 666, 999, 1332, 1665, 1998),
			set: "333:bug 666:bug 999:bug 1332:bug 1665:bug 1998:bug", uniq: "any order",
		},
		{
			name: "the header goes before each batch", in: "\xef\xbb\xbfid,text\n1,\"a\nb\"\n2,c\n3,d\n",
			cfg: Config{Command: sh(`read header; [ "$header" = id,text ] || exit 9; if grep '^2'; then exit 65; fi; echo done`), Rows: csv()},
			out: "done\ndone\n", set: "2:invalid",
		},
		{
			name: "what the command names is taken out", in: numbers(9),
			cfg: Config{Command: sh(`awk '$1%4==0 { print NR-1 }' > "$0.rows"; [ -s "$0.rows" ] || exit 0; printf '{"class":"invalid","rows":[%s]}\n' "$(paste -sd, "$0.rows")" >&3; exit 1`)},
			set: "4:invalid 8:invalid", runs: 2,
		},
		{
			name: "and with exit code 0 the rest is done", in: numbers(9),
			cfg: Config{Command: sh(`cat; echo '{"rows":[{"index":2,"reason":"odd"}]}' >&3`)},
			out: numbers(9), set: "3:invalid", runs: 1,
		},
		{
			name: "crash", in: numbers(20),
			cfg: Config{Command: sh(`while read n; do [ $n = 9 ] && kill -SEGV $$; echo $n; done`)},
			out: without(20, 9), set: "9:crash",
		},
		{
			name: "timeout", in: numbers(8),
			cfg: Config{Command: sh(`while read n; do [ $n = 3 ] && exec sleep 60; echo $n; done`), Timeout: time.Second},
			out: without(8, 3), set: "3:timeout",
		},
		{
			name: "two rows together", in: numbers(20),
			cfg: Config{Command: []string{"awk", `{ s[$1]=1; print } END { exit s[5] && s[6] }`}}, out: numbers(20),
		},
		{
			name: "too many rows", in: numbers(100),
			cfg: Config{Command: []string{"awk", `{ print } END { exit NR>10 }`}}, out: numbers(100),
		},
		{
			name: "too much output is no reason to lose rows", in: numbers(100),
			cfg: Config{Command: []string{"cat"}, MaxOutput: 100}, out: numbers(100),
		},
		{
			name: "rows that are no UTF-8", in: "a\n\xff\xfe\nb\n",
			cfg: Config{Command: []string{"awk", `length($0)!=1 { exit 1 } { print }`}}, out: "a\nb\n", set: "2:bug",
		},
		{
			name: "python", in: "{\"n\":1}\n{\"n\":2}\n{}\n{\"n\":4}\n{\"n\":5}\n{\"n\":6}\nnull\n",
			cfg: Config{Command: []string{"python3", "-c", "import sys, json\nfor line in sys.stdin: print(json.loads(line)['n'])"}, Rows: rows.Config{Format: rows.NDJSON}},
			out: "1\n2\n4\n5\n6\n", set: "3:bug 7:bug",
		},
		{name: "nothing", in: "", cfg: Config{Command: []string{"false"}}},
		{
			name: "wrong command", in: numbers(1000),
			cfg: Config{Command: sh("exit 4"), Parallel: 4}, runs: 3, err: "it is the command, not the data",
		},
		{name: "no command", in: "1\n", cfg: Config{Command: []string{"./nowhere"}}, runs: 1, err: "cannot be started"},
		{name: "bad csv", in: "a\n\"1\n", cfg: Config{Command: []string{"cat"}, Rows: csv()}, err: "line 2: the quote"},
		{name: "no such input", cfg: Config{Command: []string{"cat"}, Input: "nowhere"}, err: "no such file"},
		{name: "a directory", cfg: Config{Command: []string{"cat"}, Input: "."}, err: "is a directory"},
		{name: "usage", in: "1\n", cfg: Config{Batch: -1, BatchBytes: 1}, err: "batch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.cfg.Command) == 3 && c.cfg.Command[0] == "sh" { // $0 is a file for it
				c.cfg.Command = append(c.cfg.Command, filepath.Join(t.TempDir(), "x"))
			}
			out, r, err := sifted(t, c.in, c.cfg)
			for c.cfg.Timeout > 0 && r.Total > len(strings.Fields(c.set)) && c.cfg.Timeout < time.Minute {
				c.cfg.Timeout *= 5 // an innocent row was too slow on this machine
				out, r, err = sifted(t, c.in, c.cfg)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if out != c.out || c.uniq == "" && rowsOf(r.Letters) != c.set || c.runs != 0 && r.Runs != c.runs {
				t.Errorf("%q, set aside %s, %d runs; want %q, %s, %d", out, rowsOf(r.Letters), r.Runs, c.out, c.set, c.runs)
			}
			if want := len(strings.Fields(c.set)); len(r.Letters) != want || r.Total != want {
				t.Errorf("%d letters, want %d", r.Total, want)
			}
		})
	}
}

// without is numbers without some.
func without(n int, rows ...int) string {
	text := "\n" + numbers(n)
	for _, r := range rows {
		text = strings.Replace(text, fmt.Sprintf("\n%d\n", r), "\n", 1)
	}
	return text[1:]
}

func TestLetters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.ndjson")
	if err := os.WriteFile(path, []byte(`{"id":"of somebody else"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := "id\na\n\"\n\xff\"\nb\n"
	_, r, err := sifted(t, in, Config{Command: append(sh(`sed 1d > "$0"; grep -qa '"' "$0" && echo 'ValueError: no' >&2 && exit 3; exit 0`), filepath.Join(t.TempDir(), "x")), Rows: csv(), Letters: File(path)})
	if err != nil {
		t.Fatal(err)
	}
	all := lettersIn(t, path)
	if len(all) != 2 {
		t.Fatalf("%d letters", len(all))
	}
	l := all[1]
	if l.ID != r.ID+"-2" || l.Row != 2 || l.Line != 3 || string(l.Base64) != "\"\n\xff\"" || l.Text != nil || l.Class != bezoar.Bug ||
		l.Reason != "ValueError: no" || l.Detail != "exit code 3" || l.Runs < 2 || l.Stderr != "ValueError: no\n" {
		t.Errorf("%+v", l)
	}
	if got := string(r.Letters[0].Body()); got != "id\n\"\n\xff\"\n" {
		t.Errorf("body %q", got)
	}
}

// Stopped in the middle, it goes on; the copy of stdin is enough, and other
// input is refused.
func TestStateOfAPipe(t *testing.T) {
	dir := t.TempDir()
	state, log, letters := filepath.Join(dir, "s"), filepath.Join(dir, "log"), filepath.Join(dir, "bad")
	cfg := Config{
		State: state, OutputPath: filepath.Join(dir, "out"), Batch: 10, Letters: File(letters),
		Command: append(sh(`tee -a "$0" | awk '$1==33 || $1==77 { exit 1 } { print }'`), log),
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopping := cfg
	stopping.Stdin = strings.NewReader(numbers(100))
	stopping.Progress = func(p sift.Progress) {
		if p.Letters == 1 {
			cancel()
		}
	}
	if _, err := Run(ctx, stopping); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_, r, err := sifted(t, numbers(99), cfg)
	var input *InputError
	if !errors.As(err, &input) || !strings.Contains(err.Error(), "the state belongs to another input") || r.Runs != 0 {
		t.Fatalf("%v after %d runs", err, r.Runs)
	}
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and once more when there is nothing left to do
		for _, text := range []string{"", numbers(100)} {
			if _, r, err = sifted(t, text, cfg); err != nil || r.Total != 2 || r.Before+r.Summary.Done+r.Summary.Letters != 100 {
				t.Fatalf("%v %+v", err, r)
			}
			if out, err := os.ReadFile(cfg.OutputPath); err != nil || string(out) != without(100, 33, 77) {
				t.Errorf("%v, output %q", err, out)
			}
		}
	}
	if got := rowsOf(lettersIn(t, letters)); got != "33:bug 77:bug" {
		t.Errorf("letters %s", got)
	}
	seen, err := os.ReadFile(log)
	if err != nil || strings.HasPrefix(string(seen), "1\n") || strings.Contains(string(seen), "\n20\n") {
		t.Errorf("%v: finished rows ran again: %q", err, seen)
	}
}

func TestStateIsGuarded(t *testing.T) {
	dir := t.TempDir()
	in := write(t, "in", numbers(30))
	state, out := filepath.Join(dir, "s"), filepath.Join(dir, "out")
	cfg := Config{Input: in, State: state, OutputPath: out, Batch: 10, Command: []string{"cat"}}
	if _, _, err := sifted(t, "", cfg); err != nil {
		t.Fatal(err)
	}
	refused := func(why string) {
		t.Helper()
		if _, r, err := sifted(t, "", cfg); err == nil || !strings.Contains(err.Error(), why) || r.Runs > 0 {
			t.Errorf("%v after %d runs, want %q", err, r.Runs, why)
		}
	}
	if err := os.Truncate(out, 3); err != nil {
		t.Fatal(err)
	}
	refused("the output has 3 bytes")
	cfg.Rows = csv()
	refused("the state belongs to")
	cfg.Rows = rows.Config{Format: rows.NDJSON}
	refused("the state belongs to rows in the format lines")
	cfg.Rows = rows.Config{}
	held, _, err := openState(state)
	if err != nil {
		t.Fatal(err)
	}
	refused("another run uses it")
	held.Close()
	cfg.State = write(t, "precious", "my diary\n")
	refused("not a state file")
	if text, err := os.ReadFile(cfg.State); err != nil || string(text) != "my diary\n" {
		t.Errorf("%v: it was written to: %q", err, text)
	}
	cfg.State = write(t, "newer", string(must(encode(record{Begin: &begin{Version: 99}}))))
	refused("another version")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An input that is changed under us ends it; what is only appended does not.
func TestInputThatChanges(t *testing.T) {
	in := write(t, "in", numbers(30))
	for _, c := range []struct{ script, err string }{
		{`echo 31 >> "$0"; cat`, ""},
		{`cat; : > "$0"`, "the input was changed"},
	} {
		out, _, err := sifted(t, "", Config{Input: in, Batch: 10, Command: append(sh(c.script), in)})
		if c.err == "" && (err != nil || out != numbers(30)) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, %q", c.script, err, out)
		}
	}
}

// What is on stdin already when we begin is all that counts.
func TestStdinFromTheMiddle(t *testing.T) {
	f, err := os.Open(write(t, "in", numbers(30)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(int64(len(numbers(20))), 0); err != nil {
		t.Fatal(err)
	}
	if out, _, err := sifted(t, "", Config{Stdin: f, Command: awk("$1==25")}); err != nil || out != strings.TrimPrefix(without(30, 25), numbers(20)) {
		t.Errorf("%v, %q", err, out)
	}
}

// A pipe with a name is read once.
func TestNamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	go func() { _ = os.WriteFile(pipe, []byte(numbers(30)), 0) }()
	if out, _, err := sifted(t, "", Config{Input: pipe, Command: awk("$1==25")}); err != nil || out != without(30, 25) {
		t.Errorf("%v, %q", err, out)
	}
}
