package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// leaves are all commands that can be run.
func leaves(t *testing.T) []*cmdline.Command {
	t.Helper()
	parser, err := newParser(new(grammar))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Root.Leaves(true)
}

// asks reports whether a command talks to a running Bezoar and to nothing else.
func asks(n *cmdline.Command) bool {
	for _, f := range n.AllFlags() {
		if f.Name == "admin" && strings.HasPrefix(f.Help, "The admin API of the running Bezoar") {
			return true
		}
	}
	return false
}

// words runs a command with something in the place of all that it requires.
func words(t *testing.T, n *cmdline.Command, file string) []string {
	args := strings.Fields(n.FullPath())[1:]
	fill := map[string]string{
		"bezoar queue edit": "--body=x", "bezoar quarantine add": "GET /", "bezoar dlq edit": "dl-3f9c00a1b2c4 --body=x", "bezoar dlq redrive": "--queue=q", "bezoar dlq discard": "--queue=q",
		"bezoar dlq restore": "--queue=q", "bezoar override set": "--rate=2", "bezoar guard set": "--dial=2", "bezoar queue set": "--delay=1s", "bezoar queue pardon": strings.Repeat("ab", 16), "bezoar queue send": "x",
	}
	for _, f := range n.AllFlags() {
		if f.IsRequired() {
			args = append(args, "--"+f.Name+"=1h")
		}
	}
	for _, p := range n.Arguments {
		if !p.IsRequired() {
			continue
		}
		switch p.Name {
		case "file":
			args = append(args, file)
		case "sequence":
			args = append(args, "1")
		case "id":
			args = append(args, map[bool]string{true: "dl-3f9c00a1b2c4", false: "q-3f9c00a1b2c4"}[strings.Contains(n.FullPath(), "dlq")])
		default:
			args = append(args, "x")
		}
	}
	if more, ok := fill[strings.TrimSpace(n.FullPath())]; ok {
		args = append(args, strings.Split(more, " -")[0])
		if _, flag, ok := strings.Cut(more, " -"); ok {
			args = append(args, "-"+flag)
		}
	}
	return args
}

// The same thing has the same exit code, whatever the command.
func TestExitCodesAreTheSameEverywhere(t *testing.T) {
	if pace.Watched {
		t.Skip("the race detector makes it take a minute, and its commands run one after another")
	}
	file := t.TempDir() + "/bezoar.yaml"
	if err := os.WriteFile(file, []byte("sqs: off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	closed := httptest.NewServer(nil)
	closed.Close()
	api := httptest.NewServer(newFakeAPI())
	t.Cleanup(api.Close)
	asked := 0
	for _, n := range leaves(t) {
		if n.Name == "names" || n.Name == "doctor" { // the one never fails, the other says it in its findings
			continue
		}
		path := strings.TrimPrefix(n.FullPath(), "bezoar ")
		check(t, append(strings.Fields(path), "--no-such-flag"), "", exitUsage, `(?s)^bezoar: .*unknown flag --no-such-flag.*\nhint: `)
		if !asks(n) || n.Name == "sift" { // which asks only for a dead-letter queue
			continue
		}
		asked++
		args := words(t, n, file)
		switch asked % 3 { // one of them for each: every command has the same client
		case 0:
			check(t, args, closed.URL, exitUnhealthy, `(?m)^bezoar: .*no answer from the admin API at .*connection refused\nhint: start Bezoar there, or set its address`)
		case 1:
			check(t, args, stranger.URL, exitUnhealthy, `(?m)^bezoar: .*http://.* answers, but is not Bezoar: 404 Not Found\nhint: set the address of Bezoar.s admin API with --admin`)
		case 2:
			check(t, args, api.URL, exitNotAllowed, `(?m)^bezoar: .*no token, or a wrong one\nhint: put the admin token into BEZOAR_ADMIN_TOKEN`)
		}
	}
	if asked < 30 {
		t.Errorf("only %d commands were tried", asked)
	}
}

func check(t *testing.T, args []string, admin string, want int, says string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main(t.Context(), Process{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string {
			if name == adminVar {
				return admin
			}
			return ""
		},
		Exit: func(int) { t.Error("exited at once") }, Engine: tellingEngine(),
	})
	if code != want || !regexp.MustCompile(says).MatchString(errs.String()) {
		t.Errorf("bezoar %s: exit code %d, want %d; stderr %q wants %s", strings.Join(args, " "), code, want, errs.String(), says)
	}
}

// With --json an error is one JSON object on stderr, with the same exit code.
func TestErrorsAsJSON(t *testing.T) {
	api := httptest.NewServer(newFakeAPI())
	t.Cleanup(api.Close)
	file := t.TempDir() + "/bezoar.yaml"
	if err := os.WriteFile(file, []byte("listne: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, admin string
		code        int
		want        failed
	}{
		{"queue ls --json --nope", "", exitUsage, failed{Error: "unknown flag --nope", Hint: "bezoar queue ls --help"}},
		{"--json nope", "", exitUsage, failed{Error: `there is no command nope, did you mean "top"?`, Hint: "bezoar --help"}},
		{"queue ls --json", "http://127.0.0.1:1", exitUnhealthy, failed{Hint: "start Bezoar there, or set its address with --admin or BEZOAR_ADMIN"}},
		{"queue ls --json", api.URL, exitNotAllowed, failed{Hint: "put the admin token into BEZOAR_ADMIN_TOKEN", Code: "unauthorized"}},
		{"config show --json " + file, "", exitFailure, failed{Faults: []config.Fault{{File: file, Line: 1, Column: 1, Path: "listne"}}}},
	} {
		var out, errs bytes.Buffer
		code := Main(t.Context(), Process{
			Args: strings.Fields(c.args), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
			Getenv: func(name string) string { return map[string]string{adminVar: c.admin}[name] }, Engine: tellingEngine(),
		})
		var got failed
		if err := json.Unmarshal(errs.Bytes(), &got); err != nil {
			t.Errorf("%s: stderr is %q: %v", c.args, errs.String(), err)
			continue
		}
		if code != c.code || got.ExitCode != code || got.Error == "" || c.want.Error != "" && got.Error != c.want.Error || got.Hint != c.want.Hint || got.Code != c.want.Code {
			t.Errorf("%s: exit code %d, want %d; stderr %s", c.args, code, c.code, errs.String())
		}
		for i, f := range c.want.Faults {
			if len(got.Faults) <= i || got.Faults[i].File != f.File || got.Faults[i].Line != f.Line || got.Faults[i].Path != f.Path || got.Faults[i].Fix == "" {
				t.Errorf("%s: the faults are %+v, want %+v", c.args, got.Faults, f)
			}
		}
	}
	// Behind -- the flags are another program's.
	check(t, []string{"run", "--nope", "--", "server", "--json"}, "", exitUsage, `^bezoar: unknown flag --nope`)
}

// The table in the guide has every code, and the help names them in the same words.
func TestExitCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+?) \|`).FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = true
		if m[1] != "130" && !strings.Contains(exitHelp, m[1]+" "+m[2]) {
			t.Errorf("the help does not say %s %s: %s", m[1], m[2], exitHelp)
		}
	}
	for _, code := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "130"} {
		if !named[code] {
			t.Errorf("docs/exit-codes.md has no %s", code)
		}
	}
}

// What was attempted and why it failed are said once.
func TestErrorsSayEachThingOnce(t *testing.T) {
	for text, want := range map[string]string{
		`send to queue "r": send to queue "r": queue "r": queue not found`: `send to queue "r": queue not found`,
		`plan: plan to discard: nothing selected`:                          `plan to discard: nothing selected`,
		`compare versions: settings of version 7: version 7: not found`:    `compare versions: settings of version 7: not found`,
		`not on a word: word`:          `not on a word`,
		`first: second: first`:         `first: second: first`,
		`keyword: word`:                `keyword: word`,
		"the settings\nx: x: as it is": "the settings\nx: x: as it is",
	} {
		if got := spoken(exitf(exitFailure, "%s", text)); got != want {
			t.Errorf("%q is said as %q, want %q", text, got, want)
		}
	}
}
