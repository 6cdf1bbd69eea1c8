// Testrun runs go test and says at the end which tests were the slowest.
//
//	testrun SEED [flag…] package… [-- folder…]
//
// SEED is a number of 1 or more, which fixes the order of the tests and the draws
// of the property tests; or "on", for others each time. A flag is one of go test's,
// in one word, as in -timeout=9m. Folders hold modules of their own, all of whose
// packages are tested besides. Packages come with their tests compiled before the
// first test runs; then at most two go tests run at once. First come the packages
// that take longest, beside those with property tests, each with as many packages at
// once as there are processors; last come the short ones, with twice as many, since
// most of them wait. The flag -p chooses otherwise.
//
// With -race it leaves out the packages in which nothing runs at once: see
// runsAtOnce for the rule. It names them.
//
// A test that fails is run once more, alone, since tests that start servers and
// processes share the machine with others. If it passes then, it is named as
// unsteady at the end: that is a fault to be mended, of the test or of what it
// tests, but the run goes on. See again for what is not run once more.
//
// It prints what go test prints without -v: a line for each package, and the output
// of tests that fail. The last line is PASS or FAIL, and so is the exit code. It does
// not tell how much processor time a test took, only how long it lasted.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
	}
	if err != nil || !ok {
		os.Exit(1) //nolint:forbidigo // main is where a program ends
	}
}

type order struct {
	seed     string
	flags    []string // of go test
	packages []string
	folders  []string // of other modules
}

func parse(args []string) (o order, err error) {
	usage := fmt.Errorf("usage: testrun SEED [flag…] package… [-- folder…]")
	if len(args) == 0 {
		return o, usage
	}
	o.seed = args[0]
	args = args[1:]
	for i, arg := range args {
		switch {
		case arg == "--":
			o.folders = args[i+1:]
		case strings.HasPrefix(arg, "-"):
			o.flags = append(o.flags, arg)
			continue
		default:
			o.packages = append(o.packages, arg)
			continue
		}
		break
	}
	if o.seed == "" || strings.HasPrefix(o.seed, "-") || len(o.packages) == 0 {
		return o, usage
	}
	return o, nil
}

// run reports whether every test passed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (ok bool, err error) {
	o, err := parse(args)
	if err != nil {
		return false, err
	}
	jobs, err := plan(ctx, o, stdout, stderr)
	if err != nil {
		return false, err
	}
	p := newPrinter(stdout)
	ok = execute(ctx, jobs, p, stderr)
	p.finish(ok)
	return ok, nil
}
