package lastrun

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reopen opens and closes the record of a run that leaves the process's crash
// output alone.
func reopen(t *testing.T, dir string) Report {
	t.Helper()
	r, rep := Open(Config{Dir: dir, NoCrashOutput: true})
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return rep
}

// What lies in the file's place is never followed, waited for, believed or
// destroyed, and never a reason not to start.
func TestWhatIsNoFileOfOurs(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "treasure")
	if err := os.WriteFile(elsewhere, []byte("treasure"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		make func(path string) error
		note string
	}{
		{"a link", func(path string) error { return os.Symlink(elsewhere, path) }, "symbolic link"},
		{"a second name", func(path string) error { return os.Link(elsewhere, path) }, "2 names"},
		{"a pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a file"},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o700) }, "is a directory"},
		{"somebody else's", func(path string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can make a file of somebody else's")
			}
			return os.WriteFile(path, nil, 0o600)
		}, "belongs to user 4242"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, fileName)
			if err := tc.make(path); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(tc.note, "4242") {
				if err := os.Chown(path, 4242, -1); err != nil {
					t.Fatal(err)
				}
			}
			if rep := reopen(t, dir); rep.How != Unknown || !strings.Contains(rep.Note, tc.note) {
				t.Errorf("report %+v", rep)
			}
		})
	}
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "treasure" {
		t.Errorf("the file elsewhere holds %q, %v", text, err)
	}
	for _, dir := range []string{filepath.Join(t.TempDir(), "missing"), elsewhere, "/proc"} { // in the last nobody can make a file
		if rep := reopen(t, dir); rep.How != Unknown || rep.Note == "" {
			t.Errorf("in %s: %+v", dir, rep)
		}
	}
}

// A link in the place of the kept text is replaced, not followed.
func TestTheKeptTextFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "treasure")
	if err := os.WriteFile(elsewhere, []byte("treasure"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, keptName)); err != nil {
		t.Fatal(err)
	}
	leave(t, dir, ours().encode(), "panic: boom\n")
	if rep := reopen(t, dir); rep.How != Panicked || rep.Note != "" {
		t.Errorf("report %+v", rep)
	}
	kept := filepath.Join(dir, keptName)
	if text, err := os.ReadFile(kept); err != nil || string(text) != "panic: boom\n" {
		t.Errorf("kept %q, %v", text, err)
	}
	if info, err := os.Lstat(kept); err != nil || info.Mode() != 0o600 {
		t.Errorf("kept as %v, %v", info, err)
	}
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "treasure" {
		t.Errorf("the file elsewhere holds %q, %v", text, err)
	}
}

func ours() head {
	return head{id: 7, boot: bootID(), pid: 42, began: time.Unix(0, 12345)}
}

// leave writes what a run has left.
func leave(t *testing.T, dir string, head []byte, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, fileName), append(head, text...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	long := ours()
	long.id, long.pid, long.began = 1<<64-1, 1<<31-1, time.Unix(0, 1<<63-1)
	long.count = count{group: fmt.Sprintf("%d-%d", uint64(1<<64-1), uint64(1<<64-1)), kills: 1<<63 - 1}
	long.orderly = true
	for _, h := range []head{ours(), long} {
		b := h.encode()
		if got, ok := decode(b); !ok || got != h || len(b) != headSize {
			t.Errorf("%q is read as %+v", b, got)
		}
		for i := range b {
			broken := append([]byte(nil), b...)
			broken[i] ^= 1
			if _, ok := decode(broken); ok {
				t.Fatalf("%q is read as whole", broken)
			}
			if _, ok := decode(b[:i]); ok {
				t.Fatalf("%q is read as whole", b[:i])
			}
		}
	}
}

func TestWhatARunLeft(t *testing.T) {
	t.Parallel()
	whole, restarted, orderly := ours(), ours(), ours()
	restarted.boot, orderly.orderly = "another", true
	dir := t.TempDir()
	for _, tc := range []struct {
		name string
		head []byte
		text string
		mode fs.FileMode
		how  How
		id   uint64
		line string
		note string
	}{
		{name: "nothing", how: First},
		{name: "half a head", head: whole.encode()[:100], how: Unknown, note: "damaged"},
		{name: "zeros", head: make([]byte, 2*headSize), how: Unknown, note: "damaged"},
		{name: "another format", head: []byte(strings.Repeat("bezoar-run 2 ", 100)), how: Unknown, note: "damaged"},
		{name: "no head", text: "panic: boom\n\ngoroutine 1 [running]:\n", how: Unknown, note: "damaged"},
		{name: "killed", head: whole.encode(), how: Unknown, id: 7},
		{name: "the machine restarted", head: restarted.encode(), how: Unknown, id: 7, note: "machine has restarted"},
		{name: "in order", head: orderly.encode(), how: Orderly, id: 7},
		{name: "in order, before a restart", head: orderly.encode(), how: Orderly, id: 7},
		{name: "a panic while it stopped", head: orderly.encode(), text: "panic: late\n", how: Panicked, id: 7, line: "panic: late"},
		{name: "cut off early", head: whole.encode(), text: "pan", how: Unknown, id: 7, note: "not the text of a crash"},
		{name: "cut off later", head: whole.encode(), text: "panic: bo", how: Panicked, id: 7, line: "panic: bo"},
		{name: "binary", head: whole.encode(), text: "\x00\xff\x1b[31m", how: Unknown, id: 7, note: "not the text of a crash"},
		{name: "writable by others", head: whole.encode(), text: "panic: forged\n", mode: 0o622, how: First},
		{name: "readable by others", head: whole.encode(), text: "panic: boom\n", mode: 0o644, how: Panicked, id: 7, line: "panic: boom"},
		{name: "huge", head: whole.encode(), text: "panic: boom\n" + strings.Repeat("x", 3<<20), how: Panicked, id: 7, line: "panic: boom"},
	} {
		leave(t, dir, tc.head, tc.text)
		path := filepath.Join(dir, fileName)
		if tc.mode != 0 {
			if err := os.Chmod(path, tc.mode); err != nil {
				t.Fatal(err)
			}
		}
		rep := reopen(t, dir)
		if rep.How != tc.how || rep.ID != tc.id || rep.Line != tc.line || (rep.Note != "") != (tc.note != "") || !strings.Contains(rep.Note, tc.note) {
			t.Errorf("%s: %+v", tc.name, rep)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() != headSize || info.Mode() != 0o600 {
			t.Errorf("%s: the next run's file is %v, %v", tc.name, info, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, keptName)); err != nil || info.Size() != maxText {
		t.Errorf("the kept text of a huge crash: %v, %v", info, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// A count says something only about the same group, and only when it has grown.
func TestCounts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		then, now count
		how       How
	}{
		{"grown", count{"1-2", 5}, count{"1-2", 6}, OutOfMemory},
		{"the same", count{"1-2", 5}, count{"1-2", 5}, Unknown},
		{"another group", count{"1-2", 5}, count{"1-3", 6}, Unknown},
		{"a group made anew", count{"1-2", 5}, count{"1-2", 1}, Unknown},
		{"no count then", count{}, count{"1-2", 6}, Unknown},
		{"no count now", count{"1-2", 5}, count{}, Unknown},
		{"none at all", count{}, count{}, Unknown},
	} {
		h := ours()
		h.count = tc.then
		if rep := judge(h.encode(), h.boot, tc.now, nil); rep.How != tc.how {
			t.Errorf("%s: %+v", tc.name, rep)
		}
		h.orderly = true
		if rep := judge(h.encode(), h.boot, tc.now, nil); rep.How != Orderly {
			t.Errorf("%s, in order: %+v", tc.name, rep)
		}
	}
}
