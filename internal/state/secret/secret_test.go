package secret_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/state/secret"
)

// As a child the test binary loads the secret that it is told to and prints it.
func TestMain(m *testing.M) {
	if path := os.Getenv("SECRET_TEST_LOAD"); path != "" {
		fmt.Println("ready")
		var line string
		fmt.Scanln(&line) // all children start at once
		s, err := secret.Load(path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Printf("%x\n", s)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLoadMakesTheSecretOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	a, err := secret.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := secret.Load(path)
	if err != nil || a != b {
		t.Errorf("the second load: %x, %v; want %x", b, err, a)
	}
	if other, err := secret.Load(filepath.Join(t.TempDir(), "secret")); err != nil || other == a {
		t.Errorf("another secret: %x, %v", other, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 || info.Size() != secret.Size {
		t.Errorf("the file: %v, %v", info, err)
	}
	alone(t, path)
}

// alone checks that no draft was left behind.
func alone(t *testing.T, path string) {
	t.Helper()
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}

func TestLoadAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	var wg sync.WaitGroup
	var mu sync.Mutex // guards seen
	seen := map[[secret.Size]byte]int{}
	for range 64 {
		wg.Go(func() {
			s, err := secret.Load(path)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			seen[s]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(seen) != 1 {
		t.Errorf("%d different secrets", len(seen))
	}
	alone(t, path)
}

func TestLoadAtOnceByProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type child struct {
		cmd *exec.Cmd
		in  io.Writer
		out *bufio.Reader
	}
	var children []child
	for range 8 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "SECRET_TEST_LOAD="+path)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child{cmd, in, bufio.NewReader(out)})
	}
	for _, c := range children {
		if line, err := c.out.ReadString('\n'); line != "ready\n" {
			t.Errorf("a child says %q, %v", line, err)
		}
	}
	for _, c := range children {
		if _, err := io.WriteString(c.in, "go\n"); err != nil {
			t.Error(err)
		}
	}
	seen := map[string]bool{}
	for _, c := range children {
		text, err := io.ReadAll(c.out)
		if err = errors.Join(err, c.cmd.Wait()); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		seen[string(text)] = true
	}
	if len(seen) != 1 {
		t.Errorf("the processes disagree: %v", seen)
	}
	alone(t, path)
}

func TestLoadRefuses(t *testing.T) {
	good := []byte("0123456789abcdef0123456789abcdef")
	for name, c := range map[string]struct {
		mode fs.FileMode
		text []byte
		want string
	}{
		"group":   {0o640, good, "open to others (mode 0640): run chmod 600 "},
		"all":     {0o604, good, "open to others (mode 0604): run chmod 600 "},
		"write":   {0o602, good, "open to others (mode 0602): run chmod 600 "},
		"short":   {0o600, good[:31], "has 31 bytes, want 32"},
		"long":    {0o600, append(good[:32:32], '\n'), "has 33 bytes, want 32"},
		"empty":   {0o600, nil, "has 0 bytes, want 32"},
		"zeroes":  {0o600, make([]byte, 32), "not random"},
		"onebyte": {0o600, bytes.Repeat([]byte("x"), 32), "not random"},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, c.text, c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		s, err := secret.Load(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q and the path", name, err, c.want)
		}
		if s != [secret.Size]byte{} {
			t.Errorf("%s: a secret beside the error", name)
		}
		if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, c.text) {
			t.Errorf("%s: the file was touched: %q, %v", name, text, err)
		}
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := secret.Load(dir); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secret.Load(pipe); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a pipe: %v", err)
	}
	missing := filepath.Join(dir, "no", "secret")
	if _, err := secret.Load(missing); err == nil || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "no such file or directory") {
		t.Errorf("no folder: %v", err)
	}
	dangling := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	if _, err := secret.Load(dangling); err == nil {
		t.Error("a dangling link is accepted")
	}
}

func TestLoadFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	want, err := secret.Load(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("secret", link); err != nil {
		t.Fatal(err)
	}
	if got, err := secret.Load(link); err != nil || got != want {
		t.Errorf("through a link: %x, %v; want %x", got, err, want)
	}
}
