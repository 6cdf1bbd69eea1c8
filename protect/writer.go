package protect

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

// writer is the ResponseWriter of a protected handler. It adds the fields about quotas, counts, and makes a copy if one is
// wanted.
type writer struct {
	http.ResponseWriter
	request    *request
	status     int // 0 until the answer has begun
	n          int64
	hijacked   bool
	recordable bool
	recorder   stale.Recorder
	fields     []stale.Field // used again
}

var (
	_ http.Flusher  = (*writer)(nil)
	_ http.Hijacker = (*writer)(nil)
	_ io.ReaderFrom = (*writer)(nil)
)

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader begins the answer, unless status is an interim one.
func (w *writer) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// begin records that the answer begins.
func (w *writer) begin(status int) {
	if w.status != 0 || w.hijacked {
		return
	}
	w.status = status
	v := w.request
	v.admission.Head = time.Now()
	h := w.Header()
	if admission.IsStream(status, h.Get("Content-Type")) {
		v.admission.Stream(v.admission.Head)
	}
	if w.recordable {
		w.record(h)
	}
	if v.admission.Counted && !v.p.policy.HideLimits {
		for _, f := range v.admission.QuotaFields(nil) {
			h.Add(f.Name, f.Value)
		}
	}
}

// record begins the copy.
func (w *writer) record(h http.Header) {
	for name, values := range h {
		for _, value := range values {
			w.fields = append(w.fields, stale.Field{Name: name, Value: value})
		}
	}
	v := w.request
	w.recorder = v.p.policy.Cache.Record(v.staleKey(), stale.Answer{
		Status: w.status, Header: w.fields, Credentials: v.p.policy.Credentials(v),
	}, v.admission.Head)
}

// Write begins the answer if need be, and adds to its body.
func (w *writer) Write(p []byte) (int, error) {
	if w.n > 0 {
		w.request.admission.Continues()
	}
	w.begin(http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	w.n += int64(n)
	_, _ = w.recorder.Write(p[:n]) // never fails
	return n, err
}

// ReadFrom lets the server's writer read, which may not need to look at the bytes, unless they are copied.
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	w.begin(http.StatusOK)
	w.request.admission.Continues()
	if from, ok := w.ResponseWriter.(io.ReaderFrom); ok && !w.recordable {
		n, err := from.ReadFrom(r)
		w.n += n
		return n, err
	}
	return io.Copy(struct{ io.Writer }{w}, r)
}

// Flush sends what has been written, if the server's writer can.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is Flush with an error.
func (w *writer) FlushError() error {
	w.begin(http.StatusOK)
	w.request.admission.Continues()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack gives up the connection, if the server's writer can.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.hijacked = true
		w.request.admission.Head = time.Now()
		w.request.admission.Stream(w.request.admission.Head)
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
