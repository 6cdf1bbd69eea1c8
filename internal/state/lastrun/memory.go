package lastrun

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// count is the kernel's count of out-of-memory kills in one group.
type count struct {
	group string // identifies the group, also among later ones at the same path; "": there is no count
	kills int64
}

// counter reads the count of the group that this process is in.
type counter struct{ group *cgroup.Group }

func openCounter() counter {
	g, err := cgroup.Of(os.Getpid())
	if err != nil {
		return counter{}
	}
	return counter{g}
}

func (c counter) count() count {
	if c.group == nil {
		return count{}
	}
	var st syscall.Stat_t
	if err := syscall.Stat(c.group.Path(), &st); err != nil {
		return count{}
	}
	n, err := c.group.OOMKills()
	if err != nil {
		return count{}
	}
	return count{group: fmt.Sprintf("%d-%d", uint64(st.Dev), uint64(st.Ino)), kills: n} //nolint:unconvert // their types differ between systems
}

// bootID identifies one run of the machine; "-" where the system has no such id.
func bootID() string {
	id := statefile.Boot()
	if len(id) == 0 || len(id) > 64 || strings.ContainsAny(id, " \n") {
		return "-"
	}
	return id
}
