package golden

import (
	"testing"
)

// recorder keeps what Equal reports instead of failing.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }

func TestEqual(t *testing.T) {
	Equal(t, "sample.txt", []byte("one\ntwo\n"))
	if Updating() {
		return
	}
	r := &recorder{TB: t}
	if Equal(r, "sample.txt", []byte("one\n2\n")); r.errors != 1 {
		t.Errorf("a difference was reported %d times", r.errors)
	}
}

func TestDiffShowsTheFirstDifference(t *testing.T) {
	got := diff("a\nb\nc\nd\n", "a\nb\nX\nd\n")
	want := "  a\n  b\n- c\n- d\n- \n+ X\n+ d\n+ \n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
