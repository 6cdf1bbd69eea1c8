// Package suite is what the suites of several stores share.
package suite

import (
	"errors"
	"sync"
	"testing"
)

// T is a test, or one game of a property.
type T interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ErrorIf is Errorf, if something is bad.
func ErrorIf(t T, bad bool, format string, args ...any) {
	t.Helper()
	if bad {
		t.Errorf(format, args...)
	}
}

// FatalIf is Fatalf, if something is bad.
func FatalIf(t T, bad bool, format string, args ...any) {
	t.Helper()
	if bad {
		t.Fatalf(format, args...)
	}
}

// Must fails with err.
func Must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Together runs f(0) … f(n-1) at the same time and fails with their errors.
func Together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	Must(t, errors.Join(errs...))
}
