package taskrun

import (
	"context"
	"io"
	"os"
)

// reader reads a log while it is written.
type reader struct {
	done   <-chan struct{} // closed when the reader is abandoned
	why    func() error
	l      *logFile
	follow bool
	at     int64
	gap    []byte // read first
	closed bool
}

// open returns a reader; nil if the log is complete and its file can be read.
func (l *logFile) open(ctx context.Context, offset int64, follow bool) *reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil
	}
	l.readers++
	return &reader{done: ctx.Done(), why: ctx.Err, l: l, follow: follow, at: offset}
}

// Read waits for more bytes if the reader follows.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, wait, err := r.read(p)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-wait:
		case <-r.done:
			return 0, r.why()
		}
	}
}

// read returns available bytes, or a channel to wait for.
func (r *reader) read(p []byte) (n int, wait <-chan struct{}, err error) {
	l := r.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.closed {
		return 0, nil, os.ErrClosed
	}
	in := ringOf(l.n, l.limit)
	if r.at >= in.head && r.at < in.oldest() {
		r.gap = in.gap(in.oldest() - r.at)
		r.at = in.oldest()
	}
	switch {
	case len(r.gap) > 0:
		n = copy(p, r.gap)
		r.gap = r.gap[n:]
		return n, nil, nil
	case r.at < l.n:
		offset, piece := in.at(r.at)
		n, err = l.f.ReadAt(p[:min(int64(len(p)), piece, l.n-r.at)], offset)
		if n > 0 {
			err = nil
		}
		r.at += int64(n)
		return n, nil, err
	case l.over || !r.follow:
		return 0, nil, io.EOF
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return 0, l.changed, nil
}

// Close may be called more than once.
func (r *reader) Close() error {
	l := r.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	l.readers--
	if l.over && l.readers == 0 && l.f != nil {
		return l.f.Close()
	}
	return nil
}

// logAtRest opens the log of an attempt that is over. An attempt without output has none.
func logAtRest(path string, offset int64) (io.ReadCloser, error) {
	f, err := os.Open(path)
	switch {
	case os.IsNotExist(err):
		return io.NopCloser(eof{}), nil
	case err != nil:
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
