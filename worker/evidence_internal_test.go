package worker

import (
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Who has only a class to go by reads how it ended, and of no exit that there was
// not.
func TestReasonWithoutWords(t *testing.T) {
	for _, tc := range []struct {
		in   child.Result
		want string
	}{
		{child.Result{Class: bezoar.Throttled, Detail: "answered throttled", Report: &child.Report{Class: "throttled"}}, "answered throttled"},
		{child.Result{Class: bezoar.Timeout, ExitCode: -1, Signal: "SIGTERM", Detail: "ran longer than 10s: signal: terminated"}, "ran longer than 10s: signal: terminated"},
		{child.Result{Class: bezoar.Throttled, ExitCode: 75, Detail: "exit code 75", Report: &child.Report{Class: "throttled", Reason: "quota"}}, "quota"},
		{child.Result{Class: bezoar.Crash, ExitCode: -1, Signal: "SIGSEGV", Detail: "signal: segmentation fault"}, "SIGSEGV"},
	} {
		got := ofChild(&tc.in, "handler")
		if got.reason != tc.want || got.class != tc.in.Class {
			t.Errorf("%s: %v, %q; want %q", tc.in.Detail, got.class, got.reason, tc.want)
		}
	}
}
