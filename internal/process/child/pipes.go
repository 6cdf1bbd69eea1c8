package child

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

const (
	// drainFor is how long to wait for the rest of the output after a job's end. A process that escaped may keep the pipe
	// open for ever.
	drainFor  = 250 * time.Millisecond
	chunk     = 64 << 10 // bytes per read: the capacity of a pipe
	inlineMax = 4 << 10  // bytes that fit into an empty pipe, always
)

// The pipes of a process.
const (
	stdin = iota
	stdout
	stderr
	report // only on systems where children can inherit a fourth descriptor
	pipeCount
)

// pipes are both ends of each.
type pipes struct{ ours, theirs [pipeCount]*os.File }

func openPipes() (p pipes, err error) {
	for i := range pipeCount {
		if i == report && runtime.GOOS == "windows" {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return p, err
		}
		p.ours[i], p.theirs[i] = r, w
		if i == stdin {
			p.ours[i], p.theirs[i] = w, r
		}
	}
	return p, nil
}

func (p *pipes) close() {
	p.closeTheirs()
	closeAll(p.ours[:])
}

func (p *pipes) closeTheirs() { closeAll(p.theirs[:]) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // a second Close is harmless
		}
	}
}

// chunks holds buffers for reuse: most jobs write little, and each needs three.
type chunks struct{ pool sync.Pool }

func (c *chunks) get() *[chunk]byte {
	if b, ok := c.pool.Get().(*[chunk]byte); ok {
		return b
	}
	return new([chunk]byte)
}

// outlet is our end of an output pipe. It ends when no process can write any more, or some time after [outlet.expire].
type outlet struct {
	f *os.File

	mu    sync.Mutex // guards until
	until time.Time  // zero: expire was not called
}

func (o *outlet) Read(b []byte) (int, error) {
	n, err := o.f.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// Output written before the end may still be in the pipe.
		o.mu.Lock()
		late := time.Since(o.until) > drainFor
		_ = o.f.SetReadDeadline(time.Now().Add(time.Millisecond))
		o.mu.Unlock()
		if late {
			return 0, io.EOF
		}
		if n, err = o.f.Read(b); errors.Is(err, os.ErrDeadlineExceeded) {
			return n, io.EOF
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = io.EOF // closed meanwhile
	}
	return n, err
}

func (o *outlet) Close() error { return o.f.Close() }

// expire sets a deadline for processes that may still write.
func (o *outlet) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until = time.Now().Add(drainFor)
	_ = o.f.SetReadDeadline(o.until)
}

// drain reads an output to its end.
func drain(o *outlet, to io.Writer, c *chunks) {
	defer o.f.Close()
	b := c.get()
	defer c.pool.Put(b)
	for {
		n, err := o.Read(b[:])
		if n > 0 {
			_, _ = to.Write(b[:n])
		}
		if err != nil {
			return
		}
	}
}

// copied writes to a tail and to a second writer; an error of the second does not affect the job.
type copied struct {
	tail *proc.Tail
	to   io.Writer // nil: none, or it has failed
}

func (c *copied) Write(b []byte) (int, error) {
	_, _ = c.tail.Write(b)
	if c.to != nil {
		if _, err := c.to.Write(b); err != nil {
			c.to = nil
		}
	}
	return len(b), nil
}

// head keeps the first bytes, one more than a report may have.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	if room := MaxReport + 2 - len(h.b); room > 0 {
		h.b = append(h.b, p[:min(room, len(p))]...)
	}
	return len(p), nil
}
