//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(syscall.Mkfifo(at("pipe"), 0o600), os.WriteFile(at("file"), []byte("12345678"), 0o600), os.Symlink(at("file"), at("link")), os.Symlink(at("pipe"), at("way"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		at("pipe"): "is not a regular file but a pipe", at("way"): "but a pipe", dir: "but a folder", "/dev/zero": "but a device",
	} {
		if text, err := Read(name, 8); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"file", "link"} {
		if text, err := Read(at(name), 8); string(text) != "12345678" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := Read(at("file"), 7); err == nil || !strings.Contains(err.Error(), "more than 7 bytes") {
		t.Errorf("a long one: %v", err)
	}
	if _, err := Read(at("none"), 7); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

func TestAFileSystemThatDoesNotAnswerHoldsNobodyUp(t *testing.T) {
	answers := make(chan struct{})
	defer close(answers)
	_, _, err := within(time.Millisecond, "far", func() ([]byte, fs.FileInfo, error) { <-answers; return nil, nil, nil })
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
