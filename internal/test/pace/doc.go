// Package pace tells tests how much to do, and how much of it at once. Only
// tests import it.
//
// The race detector makes plain Go code, such as SQLite's, some ten times slower.
// What repeats itself to meet rare states repeats itself less often then: a few
// rounds already have every goroutine meet every other. It does not say which
// tests are worth it, nor bound how long one takes.
package pace

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Alone skips, under the race detector, a test in which nothing runs at once: there is
// nothing to detect, and the detector makes it many times slower. It runs without.
func Alone(t testing.TB) {
	t.Helper()
	if Watched {
		t.Skip("nothing runs at once here: make test runs it, without the race detector")
	}
}

// Spare skips, under the race detector, a case whose goroutines do nothing that those
// of another case do not, which runs there.
func Spare(t testing.TB, other string) {
	t.Helper()
	if Watched {
		t.Skipf("what runs at once here does so in %s as well: make test runs it, without the race detector", other)
	}
}

// Soaking says that tests are to be as long as what they are to prove: BEZOAR_SOAK
// is set.
func Soaking() bool { return os.Getenv("BEZOAR_SOAK") != "" }

// Soak leaves a case to BEZOAR_SOAK: other is the case that holds the same law
// without.
func Soak(t testing.TB, other string) {
	t.Helper()
	if !Soaking() {
		t.Skipf("%s holds the same law: BEZOAR_SOAK=1 runs this as well", other)
	}
}

// Rounds chooses how often to repeat something: plain, or watched under the race
// detector.
func Rounds(plain, watched int) int {
	if Watched {
		return watched
	}
	return plain
}

// AtOnce has n tests run at once that are marked with t.Parallel, unless -parallel
// is given. It is for packages whose tests wait, for a disk, a server or a
// process: go test runs only as many as there are processors. TestMain calls it.
func AtOnce(n int) error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(n))
}
