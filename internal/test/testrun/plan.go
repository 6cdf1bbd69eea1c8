package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// job is one go test: where, and of what.
type job struct {
	folder   string
	flags    []string
	packages []string
	rest     []string // flags of the test binaries, which come behind the packages
}

// args are those of go, with more flags than those of the job.
func (j job) args(more ...string) []string {
	return slices.Concat([]string{"test", "-json"}, j.flags, more, j.packages, j.rest)
}

// listed is a package as go list shows it. The test binary of a package is listed
// too, with the tests' dependencies, and so are packages that are compiled for it.
type listed struct {
	ImportPath string
	Dir        string
	Name       string
	ForTest    string
	GoFiles    []string
	Deps       []string
}

// rapid is what property tests import. Only they know the flag that fixes draws.
const rapid = "pgregory.net/rapid"

// plan compiles the packages and divides them into runs of go test.
func plan(ctx context.Context, o order, stdout, stderr io.Writer) ([]job, error) {
	all, err := list(ctx, o, stderr)
	if err != nil {
		return nil, err
	}
	if slices.Contains(o.flags, "-race") {
		if all, err = raced(all, stdout); err != nil {
			return nil, err
		}
	}
	draws, others := divide(all)
	long, short := others[:longOf(others)], others[longOf(others):]
	processors := runtime.GOMAXPROCS(0)
	flags := o.goFlags(processors)
	var jobs []job
	if len(long) > 0 {
		jobs = append(jobs, job{flags: flags, packages: long})
	}
	if len(draws) > 0 {
		j := job{flags: flags, packages: draws}
		if o.seed != "on" {
			j.rest = []string{"-rapid.seed=" + o.seed}
		}
		jobs = append(jobs, j)
	}
	for _, folder := range o.folders {
		jobs = append(jobs, job{folder: folder, flags: flags, packages: []string{"./..."}})
	}
	if len(short) > 0 { // they link one after the other, and most wait for something
		jobs = append(jobs, job{flags: o.goFlags(2 * processors), packages: short})
	}
	return jobs, nil
}

// goFlags are those of a go test with so many packages at once.
func (o order) goFlags(packages int) []string {
	return append([]string{"-shuffle=" + o.seed, "-p=" + strconv.Itoa(packages)}, o.flags...)
}

// list compiles packages and their tests, as go test will want them: two go tests
// at once would else compile the same. What does not compile is left for go test
// to complain about.
func list(ctx context.Context, o order, stderr io.Writer) ([]listed, error) {
	args := []string{"list", "-e", "-export", "-test", "-json=ImportPath,Dir,Name,ForTest,GoFiles,Deps"}
	if slices.Contains(o.flags, "-race") {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, o.packages...)...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var all []listed
	for d := json.NewDecoder(out); err == nil; {
		var p listed
		if err = d.Decode(&p); err == nil {
			all = append(all, p)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("what go list says: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return all, nil
}

// divide separates packages whose tests draw from the others, and puts the longest
// of both first.
func divide(all []listed) (draws, others []string) {
	drawing := map[string]bool{}
	for _, p := range all {
		if pkg, ok := strings.CutSuffix(p.ImportPath, ".test"); ok && slices.Contains(p.Deps, rapid) {
			drawing[pkg] = true
		}
	}
	for _, p := range all {
		switch {
		case !p.ordinary():
		case drawing[p.ImportPath]:
			draws = append(draws, p.ImportPath)
		default:
			others = append(others, p.ImportPath)
		}
	}
	longestFirst(draws)
	longestFirst(others)
	return draws, others
}

// ordinary tells packages from what is made of them for tests.
func (p listed) ordinary() bool { return p.ForTest == "" && !strings.HasSuffix(p.ImportPath, ".test") }
