package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar/internal/stale"
)

// visitWriter is what a protected handler writes to. It adds the fields about
// quotas, counts, and keeps a copy where one is wanted.
type visitWriter struct {
	http.ResponseWriter
	visit    *visit
	status   int // 0 until the answer has begun
	n        int64
	hijacked bool
	taping   bool
	tape     stale.Recorder
	fields   []stale.Field // used again
}

var (
	_ http.Flusher  = (*visitWriter)(nil)
	_ http.Hijacker = (*visitWriter)(nil)
	_ io.ReaderFrom = (*visitWriter)(nil)
)

// Unwrap is for [http.ResponseController].
func (w *visitWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader begins the answer, unless status is that of an interim one.
func (w *visitWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// begin notes that the answer begins.
func (w *visitWriter) begin(status int) {
	if w.status != 0 || w.hijacked {
		return
	}
	w.status = status
	v := w.visit
	v.stay.head = time.Now()
	h := w.Header()
	if w.taping {
		w.record(h)
	}
	if v.stay.counted && !v.p.terms.quiet {
		for _, f := range v.stay.quotaFields(nil) {
			h.Add(f.Name, f.Value)
		}
	}
}

// record begins the copy.
func (w *visitWriter) record(h http.Header) {
	for name, values := range h {
		for _, value := range values {
			w.fields = append(w.fields, stale.Field{Name: name, Value: value})
		}
	}
	v := w.visit
	w.tape = v.p.terms.cache.Record(v.staleKey(), stale.Answer{
		Status: w.status, Header: w.fields, Credentials: v.p.terms.credentials(v),
	}, v.stay.head)
}

// Write begins the answer if need be, and adds to its body.
func (w *visitWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	w.n += int64(n)
	_, _ = w.tape.Write(p[:n]) // never fails
	return n, err
}

// ReadFrom has the server's writer read, which may not even look at the bytes,
// unless they are to be copied.
func (w *visitWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begin(http.StatusOK)
	if from, ok := w.ResponseWriter.(io.ReaderFrom); ok && !w.taping {
		n, err := from.ReadFrom(r)
		w.n += n
		return n, err
	}
	return io.Copy(struct{ io.Writer }{w}, r)
}

// Flush sends what has been written, if the server's writer can.
func (w *visitWriter) Flush() { _ = w.FlushError() }

// FlushError is Flush with what went wrong.
func (w *visitWriter) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack gives the connection away, if the server's writer can.
func (w *visitWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.hijacked = true
		w.visit.stay.head = time.Now()
	}
	return conn, rw, err
}

// counter counts what is read of a body of unknown length.
type counter struct {
	io.ReadCloser
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	return n, err
}
