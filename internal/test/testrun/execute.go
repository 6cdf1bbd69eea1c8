package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
)

// atOnce bounds the go tests that run at once.
const atOnce = 2

// execute runs the jobs, and alone once more what failed, and reports whether all
// succeeded.
func execute(ctx context.Context, jobs []job, p *printer, stderr io.Writer) bool {
	var failed atomic.Bool
	var crew sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, j := range jobs {
		free <- struct{}{} // in their order: the long ones come first
		crew.Go(func() {
			defer func() { <-free }()
			if err := j.run(ctx, p, stderr); err != nil {
				failed.Store(true)
			}
		})
	}
	crew.Wait()
	return !failed.Load() || p.again(ctx, stderr)
}

// run hands what go test says to the printer.
func (j job) run(ctx context.Context, p *printer, stderr io.Writer, more ...string) error {
	cmd := exec.CommandContext(ctx, "go", j.args(more...)...)
	cmd.Dir, cmd.Stderr = j.folder, stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		p.line(fmt.Sprintf("go test: %v", err))
		return err
	}
	for r := bufio.NewReader(out); err == nil; { // lines of any length
		var line []byte
		if line, err = r.ReadBytes('\n'); len(line) == 0 {
			continue
		}
		var e event
		if json.Unmarshal(line, &e) != nil || e.Action == "" {
			p.line(string(line)) // of go itself
			continue
		}
		p.take(j, e)
	}
	return cmd.Wait()
}
