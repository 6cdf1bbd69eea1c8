//go:build linux

package worktest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// process is a line of the process table.
type process struct {
	pid, parent int
	state       byte
	command     string // its arguments
	job         string // ID/RECEIVES of the message it works for: by its environment or its arguments
	mark        string // whose child it is
}

func (p process) String() string {
	return fmt.Sprintf("%d (%c, of %d) %q for %s", p.pid, p.state, p.parent, p.command, p.job)
}

// processes reads the process table. What ends meanwhile is left out.
func processes(t testing.TB) (all []process) {
	t.Helper()
	names, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		if p, ok := look(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

func look(pid int) (p process, ok bool) {
	at := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(at + "/stat")
	if err != nil {
		return p, false
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	p = process{pid: pid, state: f[0][0]}
	p.parent, _ = strconv.Atoi(f[1])
	args, _ := os.ReadFile(at + "/cmdline") // of a zombie, or of somebody else: empty
	p.command = string(bytes.TrimRight(bytes.ReplaceAll(args, []byte{0}, []byte{' '}), " "))
	environ, _ := os.ReadFile(at + "/environ")
	var id, receives string
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		name, value, _ := strings.Cut(string(v), "=")
		switch name {
		case child.EnvName:
			id = value
		case "BEZOAR_RECEIVE_COUNT":
			receives = value
		case child.EnvMark:
			p.mark = value
		}
	}
	if p.job = id + "/" + receives; id == "" {
		_, p.job, _ = strings.Cut(p.command, "sleep 600; : ")
	}
	return p, true
}

// memory reads a line of a process's status in bytes: VmRSS, VmHWM.
func memory(t testing.TB, pid int, line string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), line+":")
	f := strings.Fields(rest)
	if !ok || len(f) < 2 || f[1] != "kB" {
		t.Fatalf("%s is not in\n%s", line, text)
	}
	n, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
