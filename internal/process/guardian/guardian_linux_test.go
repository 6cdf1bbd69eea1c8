package guardian

import (
	"log/slog"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if Run() {
		return
	}
	os.Exit(m.Run())
}

// A guardian keeps nothing open that its owner was given, such as a listening socket:
// who closes it has closed it for good.
func TestAGuardianInheritsNoDescriptors(t *testing.T) {
	var p [2]int
	if err := unix.Pipe2(p[:], 0); err != nil { // as from another program: to be inherited
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(p[0]) }()
	stop, err := Start(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := unix.Close(p[1]); err != nil {
		t.Fatal(err)
	}
	ends := []unix.PollFd{{Fd: int32(p[0])}}
	if n, err := unix.Poll(ends, 0); n != 1 || err != nil || ends[0].Revents != unix.POLLHUP {
		t.Errorf("somebody holds the other end of the pipe: %d, %v", n, err)
	}
}
