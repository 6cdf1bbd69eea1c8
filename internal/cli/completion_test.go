package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

// run executes one command in this process.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(t.Context(), Process{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, Exit: func(int) { t.Error("exited at once") }, Engine: tellingEngine(),
	})
	return out.String(), errs.String(), code
}

func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("this test needs bash: ", err)
	}
	script, _, code := run(t, "completion", "bash")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	path := filepath.Join(t.TempDir(), "bezoar.bash")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"bezoar quar":                      "quarantine",
		"bezoar quarantine re":             "release",
		"bezoar quarantine add --fi":       "--fingerprint",
		"bezoar --json dlq redr":           "redrive",
		"bezoar demo --pill h":             "hang",
		"bezoar completion f":              "fish",
		"bezoar sample":                    "",
		"bezoar sift --format nd":          "ndjson",
		"bezoar sift -f nd":                "ndjson",
		"bezoar crash --ex":                "--explain",
		"bezoar config rol":                "rollback",
		"bezoar override set --ca":         "--caller",
		"bezoar override set --priority c": "critical-plus critical",
		"bezoar breaker open --f":          "--for",
		"bezoar crash ''":                  "",
		"bezoar work -q u -- sift --":      "",
		"bezoar quarantine add --reason d": "",
	} {
		words := strings.Fields(line)
		for i, w := range words {
			words[i] = strings.Trim(w, "'")
		}
		ask := `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); cd /; _bezoar; echo "${COMPREPLY[@]}"`
		out, err := exec.CommandContext(t.Context(), bash, append([]string{"-c", ask, "bash", path}, words...)...).CombinedOutput()
		got := strings.TrimSpace(string(out))
		if line == "bezoar quarantine add --reason d" {
			got = strings.TrimSpace(strings.ReplaceAll(got, "dev", "")) // files of the root folder
		}
		if err != nil || got != want {
			t.Errorf("%q offers %q, %v; want %q", line, got, err, want)
		}
	}
}

// Names come from the running Bezoar that the line names, and hostile ones do not come.
func TestBashAsksTheRunningBezoar(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("this test needs bash: ", err)
	}
	dir := t.TempDir()
	script, _, _ := run(t, "completion", "bash")
	for name, text := range map[string]string{
		"complete.bash": script,
		"bezoar":        "#!/bin/sh\necho \"$2.$3.$4\" invalid:one invalid:other\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // one is a program
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"queue show ":                       "queues.. invalid:one invalid:other",
		"queue --admin h:1 purge ":          "queues.--admin.h:1 invalid:one invalid:other",
		"queue purge --y":                   "--yes",
		"dlq groups -q q":                   "queues..",
		"dlq redrive --group invalid:o":     "one other",
		"quarantine release v":              "verdicts..",
		"fleet restart f":                   "fleets..",
		"flow ls --flow f":                  "flows..",
		"flow cancel r":                     "runs..",
		"run --replay a":                    "all",
		"dlq ls --class t":                  "transient throttled timeout",
		"serve --log ":                      "debug info warn error",
		"queue create ":                     "--help",
		"queue send jobs --group x":         "",
		"queue set jobs --dead-letter queu": "queues..",
	} {
		ask := `cd "$1"; source ./complete.bash; COMP_LINE="./bezoar $2"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(x y); COMP_CWORD=1; _bezoar; echo "${COMPREPLY[@]}"`
		out, err := exec.CommandContext(t.Context(), bash, "-c", ask, "bash", dir, line).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q offers %q, %v; want %q", line, got, err, want)
		}
	}
}

func TestHostileNamesAreNotOffered(t *testing.T) {
	for word, want := range map[string]bool{"jobs": true, "invalid:no-such_report.v2": true, "$(reboot)": false, "a b": false, "`id`": false, "-rf": false, "a;b": false, "a*": false, "": false} {
		if got := plainWord(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, _, code := run(t, "completion", shell)
		if code != 0 {
			t.Fatalf("%s: exit code %d", shell, code)
		}
		golden.Equal(t, "completion."+shell, []byte(script))
	}
}

func TestEveryCommandHelps(t *testing.T) {
	var all strings.Builder
	for _, path := range []string{
		"run", "serve", "demo", "quarantine ls", "quarantine show", "quarantine add", "quarantine release",
		"dlq ls", "dlq show", "dlq redrive", "dlq discard", "work", "sift", "crash", "fleet ls", "fleet show", "fleet restart",
		"config check", "config show", "config status", "config history", "config diff", "config apply", "config rollback",
		"override ls", "override set", "override lift", "breaker ls", "breaker open", "breaker close", "breaker reset",
		"guard check", "guard replay", "guard top", "guard set", "top", "doctor", "alarm ls", "queue set", "backup", "restore", "version", "completion",
	} {
		out, errs, code := run(t, append(strings.Fields(path), "--help")...)
		if code != 0 || errs != "" {
			t.Errorf("%s --help: exit code %d, stderr %q", path, code, errs)
		}
		all.WriteString("$ bezoar " + path + " --help\n" + out + "\n")
	}
	golden.Equal(t, "help.txt", []byte(all.String()))
}
