package scratch

import (
	"fmt"
	"strings"
	"testing"
)

func TestNamesAreBounded(t *testing.T) {
	var n Names
	for i := range 3 * mostNames {
		if name := fmt.Sprint("field", i); n.Of([]byte(name)) != name || len(n.known) > mostNames {
			t.Fatalf("%s: it is %q, and %d names are kept", name, n.Of([]byte(name)), len(n.known))
		}
	}
	before := len(n.known)
	if long := strings.Repeat("x", longestName+1); n.Of([]byte(long)) != long || len(n.known) != before {
		t.Error("a long name is kept")
	}
	name := []byte("field")
	n.Of(name)
	if got := testing.AllocsPerRun(10, func() { n.Of(name) }); got > 0 {
		t.Errorf("a known name costs %v allocations", got)
	}
}

func TestTrim(t *testing.T) {
	small, large := make([]int, 2, 4), make([]int, 2, 5)
	Trim(&small, 4)
	Trim(&large, 4)
	if small == nil || large != nil {
		t.Errorf("they are %v and %v", small, large)
	}
}
