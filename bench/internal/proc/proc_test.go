package proc

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestStopEndsTheWholeGroup(t *testing.T) {
	started := make(chan string, 1)
	c, err := Start(Spec{
		Name: "loop", Args: []string{"sh", "-c", "trap '' TERM; sleep 600 & echo $!; wait"},
		Line: func(s string) { started <- s },
	})
	if err != nil {
		t.Fatal(err)
	}
	grandchild := <-started
	c.Stop()
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "loop ended") {
		t.Errorf("Err() = %v, want how the loop ended", err)
	}
	if !eventually(func() bool {
		text, err := os.ReadFile("/proc/" + grandchild + "/stat")
		return err != nil || strings.Contains(string(text), ") Z ") // until init reaps it
	}) {
		t.Error("the grandchild lives")
	}
}

// patience is how long a test waits for what must happen.
const patience = time.Minute

// eventually polls for as long.
func eventually(ok func() bool) bool {
	look := time.NewTicker(tick)
	defer look.Stop()
	for late := time.After(patience); !ok(); {
		select {
		case <-look.C:
		case <-late:
			return false
		}
	}
	return true
}

func TestErrTellsTheLastWords(t *testing.T) {
	c, err := Start(Spec{Name: "talker", Args: []string{"sh", "-c", "echo all is lost >&2; exit 7"}})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if got := c.Err().Error(); got != "talker ended: exit status 7\nall is lost" {
		t.Errorf("Err() = %q", got)
	}
}

func TestLeashEndsItsHolder(t *testing.T) {
	leash, err := NewLeash()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(Spec{Name: "cat", Args: []string{"cat"}, Leash: leash.End})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	leash.Close()
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Error("cat reads on after its leash was closed")
	}
}

func TestCPUCountsTheGroup(t *testing.T) {
	c, err := Start(Spec{Name: "burner", Args: []string{"sh", "-c", "(while :; do :; done) & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if !eventually(func() bool {
		used, err := c.CPU()
		if err != nil {
			t.Fatal(err)
		}
		return used >= 5*tick
	}) {
		t.Errorf("a busy loop used less than 50 ms in %v", patience)
	}
}

func TestParseStat(t *testing.T) {
	const rest = " S 1 42 42 0 -1 4194304 100 0 0 0 7 5 9 9 20 0 1 0 309801 3133440 380"
	for name, line := range map[string]string{"plain": "43 (nginx)" + rest, "odd name": "43 (a) b (c) d)" + rest} {
		group, used, err := parseStat(line)
		if err != nil || group != 42 || used != 12*tick {
			t.Errorf("%s: parseStat = %d, %v, %v; want 42, 120ms", name, group, used, err)
		}
	}
	for _, line := range []string{"", "1 (x) S 1", "1 (x) S 1 x 1 0 0 0 0 0 0 0 7 5", "1 (x) S 1 1 1 0 0 0 0 0 0 0 7 y"} {
		if _, _, err := parseStat(line); err == nil {
			t.Errorf("parseStat(%q) has no error", line)
		}
	}
}

func TestFreeAddrsAreDistinct(t *testing.T) {
	addrs, err := FreeAddrs(50)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range addrs {
		seen[a] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d distinct addresses of 50", len(seen))
	}
}
