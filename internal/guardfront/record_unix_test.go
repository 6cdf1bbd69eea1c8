//go:build unix

package guardfront

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
)

// A pipe in place of the file does not hold up the recorder, which would not end
// either.
func TestRecorderRefusesAPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, stop := startRecorder(t, RecorderConfig{File: file})
	r.record(&recordedQuery{Kind: guard.SQL, Body: "SELECT 1"})
	stop()
	if r.Stats() != (Stats{Dropped: 1}) {
		t.Errorf("%+v", r.Stats())
	}
}
