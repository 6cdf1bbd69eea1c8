package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// On a terminal what a worker writes is text, and no order to the terminal: with an
// escape sequence or a carriage return it could write lines of the log.
func TestServeOnATerminal(t *testing.T) {
	t.Parallel()
	theirs, ours := terminal(t)
	s := &session{Process: Process{Stdout: theirs, Stderr: theirs}, out: &printer{}}
	s.workerOutput()("web-1", "stderr", "a\x1b[2K\rlevel=INFO msg=forged\ttab\r")
	line, err := bufio.NewReader(ours).ReadString('\n')
	if want := `web-1 | a\x1b[2K\x0dlevel=INFO msg=forged    tab`; err != nil || strings.TrimRight(line, "\r\n") != want {
		t.Errorf("the terminal got %q, %v, want %q", line, err, want)
	}
}

// On a terminal one line takes the place of the one before, and goes at last.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	theirs, ours := terminal(t)
	now := noon()
	s := &session{Process: Process{Stderr: theirs, Getenv: func(string) string { return "" }}, now: func() time.Time { return now }}
	p := newLongWork(s)
	for done := int64(1); done <= 3; done++ {
		now = now.Add(time.Second)
		p.tell(done, 0, func() string { return "copied" })
	}
	p.clear()
	s.say("done")
	line, err := bufio.NewReader(ours).ReadString('\n')
	if want := "\r\x1b[Kcopied\r\x1b[Kcopied; 30/min\r\x1b[Kcopied; 40/min\r\x1b[Kdone"; err != nil || strings.TrimRight(line, "\r\n") != want {
		t.Errorf("the terminal got %q, %v, want %q", line, err, want)
	}
}

// terminal returns both ends of a new one.
func terminal(t *testing.T) (theirs, ours *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return theirs, ours
}
