package evidence

import (
	"testing"

	"github.com/bezoar-dev/bezoar/crash"
)

// A sentence has the type of a failure once.
func TestSentence(t *testing.T) {
	for _, c := range []struct {
		rep  crash.Report
		want string
	}{
		{crash.Report{Type: "ValueError", Message: "no price"}, "ValueError: no price"},
		{crash.Report{Type: "ValueError", Message: "ValueError: no price"}, "ValueError: no price"},
		{crash.Report{Type: "Error", Message: "Errors: 7"}, "Error: Errors: 7"},
		{crash.Report{Type: "SIGSEGV", Message: "SIGSEGV"}, "SIGSEGV"},
		{crash.Report{Message: "exit status 1"}, "exit status 1"},
		{crash.OfRun([]byte("ValueError: no price\n"), crash.Ending{Code: 1}), "ValueError: no price"},
	} {
		if got := Sentence(c.rep); got != c.want {
			t.Errorf("%+v: %q, want %q", c.rep, got, c.want)
		}
	}
}
