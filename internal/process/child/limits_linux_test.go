package child

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Whoever sets the limits, they hold, and what Bezoar does not limit is as in any other child of this process.
func TestLimitsOfAJob(t *testing.T) {
	t.Parallel()
	const script = "ulimit -c; ulimit -t; ulimit -Sn; ulimit -Hn"
	library, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(library))
	want[0], want[1] = "0", "7"
	ways(t, func(t *testing.T, way func(*Runner)) {
		r := run(t, func(c *Config) { sh(script)(c); c.CPU = 7 * time.Second }, way)
		var tag proc.Tag
		res := r.Do(t.Context(), Job{Started: func(pid int) { tag = proc.TagOf(pid) }})
		if got := strings.Fields(string(res.Stdout)); !slices.Equal(got, want) {
			t.Errorf("limits %v, want %v: %+v", got, want, res)
		}
		if !tag.Valid() || !tag.SameMark(r.id.procTag) {
			t.Errorf("the job has the tag %x", tag)
		}
	})
}
