package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/h2"
	"github.com/bezoar-dev/bezoar/internal/gateway/stdwire"
)

// stream is one attempt over HTTP/2. After end, none of net/http's goroutines touch it.
type stream struct {
	place  *h2.Place
	cancel context.CancelFunc
	events chan event // interim answers, and then the answer
	body   *sending
	over   bool // the last event has come

	answer *http.Response
	pieces chan piece // what was read of the answer's body
	want   chan []byte
	reader sync.WaitGroup
	buf    *[readSize]byte // from the gateway's pool
}

// piece is a piece of the body of an answer.
type piece struct {
	n   int
	err error
}

// maxWaiting bounds the interim answers that wait for the caller.
const maxWaiting = 16

// event is an interim answer, or the head of the answer.
type event struct {
	status int // of an interim one
	header http.Header
	answer *http.Response
	err    error
}

var errHeadTooLarge = errors.New("the head is larger than the worker takes")

// deliverStream is deliver over HTTP/2.
func (j *job) deliverStream(ctx context.Context, t *dispatch.Target, place *h2.Place) dispatch.Result {
	rctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // Wait checks ctx
	s := &stream{place: place, cancel: cancel, events: make(chan event, maxWaiting+1)}
	req, err := j.request(rctx, s)
	if err != nil {
		cancel()
		place.GiveBack()
		return dispatch.Result{Fault: dispatch.BadAnswer, Err: err}
	}
	go func() {
		answer, err := place.RoundTrip(req, s.hint) //nolint:bodyclose // end closes it
		if err != nil {
			s.body.end() // net/http does it, except for requests that it does not take
		}
		s.events <- event{answer: answer, err: err}
	}()
	res := j.receiveStream(s, t)
	s.end(j)
	if j.up != nil && j.up.lost && res.Fault != dispatch.NoFault && res.Fault != dispatch.Unfit {
		res.Fault, res.Err = dispatch.CallerGone, j.up.cause
	}
	if res.Fault != dispatch.NoFault {
		j.from.Reset()
	}
	res.Begun = j.from.Sent()
	return res
}

// request makes an HTTP/2 request from the head that was written for HTTP/1.1.
func (j *job) request(ctx context.Context, s *stream) (*http.Request, error) {
	var head h1.Request
	if err := head.Parse(string(j.head), h1.Limits{Fields: answerFields, Target: 64 << 10}); err != nil {
		return nil, err
	}
	req := &http.Request{Method: head.Method, URL: urlOf(&head), Host: head.Host, Header: make(http.Header, len(head.Fields)), ContentLength: head.Length}
	if strings.HasPrefix(s.place.Addr(), "https:") {
		req.URL.Scheme = "https"
	}
	for _, f := range head.Fields {
		switch f.Key {
		case h1.Host, h1.Connection, h1.ContentLength, h1.TransferEncoding, h1.Upgrade, h1.TE:
		case h1.Trailer:
			req.Trailer = announced(f.Value, req.Trailer)
		default:
			name := http.CanonicalHeaderKey(f.Name)
			req.Header[name] = append(req.Header[name], f.Value)
		}
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header["User-Agent"] = nil // or net/http would name itself
	}
	if head.Trailers {
		req.Header["Te"] = []string{"trailers"}
	}
	if !j.body.whole {
		j.up = new(upload)
		j.up.moved.Store(time.Now().UnixNano())
	}
	s.body = newSending(j, req.Trailer)
	if head.Length != 0 {
		req.Body = s.body
	}
	return req.WithContext(ctx), nil
}

// urlOf returns a URL whose target is that of the head, byte for byte as far as net/http allows.
func urlOf(head *h1.Request) *url.URL {
	u := &url.URL{Scheme: "http", Host: cmp.Or(head.Host, "worker"), Opaque: head.Path, RawQuery: head.Query}
	u.ForceQuery = strings.HasSuffix(head.Target, "?")
	if strings.HasPrefix(head.Path, "//") { // it would be taken for a host
		u.Opaque, u.RawPath = "", head.Path
		u.Path, _ = url.PathUnescape(head.Path) // its escapes have been checked
	}
	return u
}

// announced adds the names of trailers to those that are sent after a body.
func announced(names string, to http.Header) http.Header {
	for name := range strings.SplitSeq(names, ",") {
		switch name = http.CanonicalHeaderKey(strings.TrimSpace(name)); {
		case !h1.Token(name), name == "Content-Length", name == "Trailer", name == "Transfer-Encoding":
			continue // net/http would not send the request
		}
		if to == nil {
			to = http.Header{}
		}
		to[name] = nil
	}
	return to
}

// hint passes an interim answer to the goroutine that waits for the answer. It does not wait, because other streams of the
// connection would wait too: what comes faster than the caller takes it is dropped.
func (s *stream) hint(status int, h http.Header) error {
	if len(s.events) < cap(s.events)-1 { // the answer itself always has room
		s.events <- event{status: status, header: h}
	}
	return nil
}

// await waits for a value from ch, within the job's bounds.
func await[T any](j *job, ch <-chan T) (v T, err error) {
	select {
	case v = <-ch:
		return v, nil
	default:
	}
	since := time.Now()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for now := since; ; now = time.Now() {
		next, err := j.Wait(since, now)
		if err != nil {
			return v, err
		}
		timer.Reset(next.Sub(now))
		select {
		case v = <-ch:
			return v, nil
		case <-timer.C:
		}
	}
}

// receiveStream reads the answer and passes it on.
func (j *job) receiveStream(s *stream, t *dispatch.Target) dispatch.Result {
	if err := j.receiveStreamHead(s); err != nil {
		if h2.TooLarge(err) { // every worker would say so: the request is at fault, like one with too long a body
			j.up = &upload{cause: errHeadTooLarge, lost: true}
			return dispatch.Result{Fault: dispatch.Unfit, Err: err}
		}
		if s.over && s.body.kept() && s.place.Unsent(err) {
			return dispatch.Result{Fault: dispatch.Unsent, Err: err}
		}
		return fault(err)
	}
	r := s.head(j.req.Method)
	res := dispatch.Result{Status: r.Status}
	now := j.begun(t)
	j.answerHead(&r)
	if admission.IsStream(r.Status, contentType(r.Fields)) {
		t.Stream()
		j.admission.Stream(now)
	}
	if err := j.from.Begin(&j.resp); err != nil {
		res.Fault, res.Err = dispatch.CallerGone, err
		return res
	}
	f := j.copyStream(s, &r)
	f.Status = r.Status
	return f
}

// receiveStreamHead waits for the head of the answer and passes interim heads on.
func (j *job) receiveStreamHead(s *stream) error {
	for {
		e, err := await(j, s.events)
		switch {
		case err != nil:
			return err
		case e.err != nil:
			s.over = true
			return e.err
		case e.answer != nil:
			s.over, s.answer = true, e.answer
			return s.tooMany()
		case e.status == http.StatusSwitchingProtocols:
			return &h1.Error{Status: http.StatusBadGateway, Rule: "the worker switched protocols over HTTP/2"}
		case e.status == http.StatusContinue: // the gateway has sent its own
		default:
			j.resp.Fields = append(j.resp.Fields[:0], sortedFields(e.header)...)
			if err := j.from.Hint(e.status, http.StatusText(e.status), j.resp.Fields); err != nil {
				return fmt.Errorf("%w: %w", errGone, err)
			}
		}
	}
}

// tooMany refuses answers with more fields than the limit.
func (s *stream) tooMany() error {
	n := 0
	for _, values := range s.answer.Header {
		n += len(values)
	}
	if n > s.place.Fields() {
		return &h1.Error{Status: http.StatusBadGateway, Rule: "too many fields"}
	}
	return nil
}

// head converts the head of the answer to HTTP/1.1.
func (s *stream) head(method string) h1.Response {
	a := s.answer
	r := h1.Response{
		Status: a.StatusCode, Reason: http.StatusText(a.StatusCode), Minor: 1, Fields: sortedFields(a.Header), Length: max(a.ContentLength, -1),
		Bare: method == http.MethodHead || a.StatusCode == http.StatusNoContent || a.StatusCode == http.StatusNotModified,
	}
	for name := range a.Trailer {
		r.Fields = append(r.Fields, h1.Field{Name: "Trailer", Value: name, Key: h1.Trailer})
		r.Length = -1 // otherwise HTTP/1.1 could not send the trailers
	}
	return r
}

func sortedFields(h http.Header) []h1.Field {
	fields := stdwire.Fields(h)
	slices.SortStableFunc(fields, func(a, b h1.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// copyStream passes the body of the answer on.
func (j *job) copyStream(s *stream, r *h1.Response) dispatch.Result {
	s.read(j.g)
	left := r.Length // -1: unknown
	for first := true; ; first = false {
		if !first {
			j.admission.Continues()
		}
		s.want <- s.buf[:]
		// Without a body the head is sent together with its end: in gRPC both are one.
		j.wait.begun = !first || r.Length != 0
		p, err := await(j, s.pieces)
		j.wait.begun = true
		if err != nil {
			return fault(err)
		}
		if p.n > 0 {
			if err := j.from.Write(s.buf[:p.n]); err != nil {
				return dispatch.Result{Fault: dispatch.CallerGone, Err: err}
			}
			left -= int64(p.n)
		}
		// A worker that does not want the rest of the request may reset the stream, also before the frame that ends it.
		if errors.Is(p.err, io.EOF) || p.err != nil && left == 0 && r.Length > 0 {
			break
		}
		if p.err != nil {
			return fault(p.err)
		}
	}
	if err := j.from.End(sortedFields(s.answer.Trailer)); err != nil {
		return dispatch.Result{Fault: dispatch.CallerGone, Err: err}
	}
	return dispatch.Result{}
}

// read starts reading the answer's body, one piece per request.
func (s *stream) read(g *Gateway) {
	if s.buf, _ = g.reads.Get().(*[readSize]byte); s.buf == nil {
		s.buf = new([readSize]byte)
	}
	s.want, s.pieces = make(chan []byte, 1), make(chan piece, 1)
	body := s.answer.Body
	s.reader.Go(func() {
		for b := range s.want {
			n, err := body.Read(b)
			s.pieces <- piece{n, err}
		}
	})
}

// end ends everything that runs for the attempt. It resets the stream unless that is over, and waits until nothing touches
// the job any more.
func (s *stream) end(j *job) {
	early := !s.body.ended()
	s.body.stop()
	s.cancel()
	for !s.over {
		e := <-s.events
		s.over, s.answer = e.err != nil || e.answer != nil, e.answer
	}
	if s.answer != nil {
		s.answer.Body.Close()
	}
	if s.want != nil {
		close(s.want)
		s.reader.Wait()
		j.g.reads.Put(s.buf)
	}
	s.body.end()
	if early && j.buffered == nil {
		j.from.Close() // the end of the body is unknown
	}
}
