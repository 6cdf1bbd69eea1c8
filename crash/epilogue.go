package crash

import "strings"

// epilogue reports a line that only says that something else failed: a
// wrapper's last words, a summary, an advice. It never stands before a line
// that tells why.
func epilogue(l string) bool {
	low := strings.ToLower(strings.TrimSpace(l[:min(len(l), 400)]))
	for _, p := range [...]string{"##[error]", "[error] ", "npm err! ", "npm error "} {
		low = strings.TrimPrefix(low, p)
	}
	if strings.Contains(low, "failed with result '") && !strings.Contains(low, "oom") { // systemd's
		return true
	}
	if strings.Contains(low, ": *** [") && strings.Contains(low, "] error ") {
		return true
	}
	if spoken(low, epilogueWords()...) {
		return true
	}
	if startsWith(low, epilogueBegins()...) {
		return true
	}
	return counted(low)
}

// epilogueWords tell of another command, step or task wherever they stand.
func epilogueWords() []string {
	return []string{
		"exit code", "exit status", "exited with", "exit signal", "non-zero", "nonzero", "returned 1", "did not complete successfully", "execution failed for task", "failed to execute goal",
		"a failure occurred while executing", "compilation failed", "compilation error. see log", "there are test failures", "build failed", "failed to build", "did not complete", "subcommand failed",
		"could not compile", "aborting due to", "elifecycle", "command failed", "lifecycle script", "[help 1]", "job execution failed", "test run failed",
		"execution of an external program failed", "terminated by unhandled exception", "error termination", "emergency stop", "marking task as failed", "script returned",
		"re-run maven", "full stack trace of the errors", "for more information about", "errors occurred!", "test failed, to rerun", "error: fatalerror", "test failed.  see above",
		"recipe for target", "waiting for unfinished jobs", "leaving directory", "error executing command", "failed: (exit ", "unreachable=", "compiled with", "cwiki.apache.org", "terraform exited", "test failed", "in --disable-debugger mode", "a memory error detector",
		"the relevant error-causing widget", "(exit) an exception was raised",
	}
}

// epilogueBegins begin a line that says no more.
func epilogueBegins() []string {
	return []string{
		"failures:", "failures!", "failure: build failed", "failed!", "test result: failed", "fail\t", "tests:", "test files", "tests run:", "failed at the ", "errno ", "this is probably not a problem with npm", "a complete log of this run", "complete log:", "failing tests", "failed examples:", "errors:", "* what went wrong",
		"> get more help", "> run with", "end requestid", "report requestid", "collected ", "rspec ./", "suggestion:", "use --", "use '--", "note: ", "hint: ", "play recap", "execution halted", "error: process completed",
	}
}

// counted reports a summary: "1 failed in 0.03s", "Found 1 error", "✖ 1 problem",
// "one error found", "3 errors generated".
func counted(low string) bool {
	low = strings.Trim(low, "=- ✖[]*#")
	low = strings.TrimPrefix(strings.TrimPrefix(low, "error] "), "found ")
	first, rest, ok := strings.Cut(low, " ")
	if !ok || countDigits(first) != len(first) && first != "one" || first == "" {
		return low == "fail" || low == "failed" || low == "error"
	}
	word, _, _ := strings.Cut(rest, " ")
	switch strings.Trim(word, ",.;()") {
	case "failed", "failing", "failure", "failures", "error", "errors", "error(s)", "errors(s)", "problem", "problems", "example", "examples", "passed", "runs", "tests", "test", "warning", "warnings", "warning(s)", "passing":
		return true
	}
	return false
}
