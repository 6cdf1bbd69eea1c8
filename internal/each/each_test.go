package each_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/each"
)

func TestOfKeepsTheOrder(t *testing.T) {
	if got := each.Of([]int{3, 1, 2}, strconv.Itoa); !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("it is %q", got)
	}
	if got := each.Of(nil, strconv.Itoa); got == nil || len(got) > 0 {
		t.Errorf("of nothing it is %#v", got)
	}
}
