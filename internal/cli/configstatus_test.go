package cli

import (
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// What the status says of the file fits what the files that it names are like.
func TestFileText(t *testing.T) {
	named := func(error string, runs bool) []live.NamedFile {
		return []live.NamedFile{{Path: "limits.yaml", Error: error, Runs: runs}}
	}
	three := live.Version{Number: 3, Sum: "three"}
	for _, tc := range []struct {
		file live.FileStatus
		want string
	}{
		{live.FileStatus{Version: 3, Runs: true, Files: named("", true)}, "b.yaml is what runs"},
		{live.FileStatus{Version: 3, Files: named("", false)}, "b.yaml is what runs"},
		{live.FileStatus{Version: 1, Files: named("", false)}, "b.yaml is version 1; a newer version was applied"},
		{live.FileStatus{Version: 1, Files: named("it is gone", false)}, "b.yaml is version 1, and names a file that cannot be read"},
		{live.FileStatus{Version: 1, Error: "it is bad", Files: named("it is gone", false)}, "it is bad"},
	} {
		tc.file.Path, tc.file.Notified = "b.yaml", true
		if got, _ := fileText(live.Status{Running: three, Wanted: three, File: tc.file}); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.file, got, tc.want)
		}
	}
}
