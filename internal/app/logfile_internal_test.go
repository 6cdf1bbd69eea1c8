package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestALogFileIsFollowed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "access.log")
	l, err := openLogFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write := func(s string) {
		t.Helper()
		l.looked = time.Time{} // long ago
		if n, err := l.Write([]byte(s)); err != nil || n != len(s) {
			t.Errorf("write: %d, %v", n, err)
		}
	}
	has := func(name, want string) {
		t.Helper()
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s has %q, %v, want %q", filepath.Base(name), b, err, want)
		}
	}
	write("one\n")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write("two\n")
	write("three\n")
	if err := os.Remove(name + ".1"); err != nil {
		t.Fatal(err)
	}
	has(name, "two\nthree\n")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	write("late\n")
	has(name, "two\nthree\n")
}
