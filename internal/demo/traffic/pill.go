package traffic

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Pill is a kind of work that kills the sample worker that serves it.
type Pill string

// The kinds of pills.
const (
	Crash  Pill = "crash"  // one filter that finds a nil pointer, again and again
	Hang   Pill = "hang"   // one filter that backtracks for minutes
	OOM    Pill = "oom"    // one export that does not fit into memory
	Unique Pill = "unique" // crashes like Crash, no two alike
	Burst  Pill = "burst"  // 64 copies of Crash at once, and again
)

func Pills() []Pill { return []Pill{Crash, Hang, OOM, Unique, Burst} }

// ParsePill reads the name of a kind.
func ParsePill(name string) (Pill, error) {
	if p := Pill(name); slices.Contains(Pills(), p) {
		return p, nil
	}
	var names []string
	for _, p := range Pills() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("pill %.40q is unknown, want one of %s", name, strings.Join(names, ", "))
}

// Every returns the time between two doses.
func (p Pill) Every() time.Duration {
	if p == Burst {
		return 3 * time.Second
	}
	return 500 * time.Millisecond
}

// Dose returns how many copies are sent in the same instant.
func (p Pill) Dose() int {
	if p == Burst {
		return 64
	}
	return 1
}

func (p Pill) request(n int) request {
	target := "/search?filter=%00lamp"
	switch p {
	case Hang:
		target = "/search?filter=" + url.QueryEscape(strings.Repeat("*a", 18)+"*b")
	case OOM:
		target = "/export?rows=1000000"
	case Unique:
		target = fmt.Sprintf("/search?filter=%%00lamp%06x", n*0x9e3779%0x1000000)
	case Crash, Burst:
	}
	return request{method: http.MethodGet, target: target}
}
