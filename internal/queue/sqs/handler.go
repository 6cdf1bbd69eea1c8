package sqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// MaxRequest is the most bytes of a request's body: a message of 1 MiB that needs three bytes per byte, as non-ASCII
// letters do in a form or as \u escapes, and 256 KiB for the rest.
const MaxRequest = 3*queue.MaxBytes + 256<<10

const (
	largeBody    = 64 << 10 // larger bodies need one of the tokens
	largeAtOnce  = 64
	bodyPatience = 20 * time.Second
	callPatience = 30 * time.Second
	keptBuffer   = 256 << 10 // larger ones are not reused
)

// Handler answers requests. It is an http.Handler.
type Handler struct {
	engine     *queue.Engine
	cfg        Config
	log        *slog.Logger
	hosts      hosts
	operations map[string]operation
	attributes map[string]attribute
	order      []string // their names
	defaults   [2]view  // of a new standard and FIFO queue
	purges     purges
	kinds      kinds
	large      chan struct{}   // a token for each large body being read
	drain      context.Context //nolint:containedctx // ends when waiting receives must end
	stop       context.CancelFunc
	leaving    atomic.Bool // connections end with their next answer
	calls      sync.Pool
}

// New returns a handler. It identifies connections only by their address; a [Server] also notices when they vanish.
func New(c Config) (*Handler, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make an SQS handler: %w", err)
	}
	c = c.withDefaults()
	h := &Handler{
		engine: c.Engine, cfg: c, log: c.Log, hosts: newHosts(c),
		operations: operations(),
		attributes: make(map[string]attribute),
		purges:     purges{last: make(map[int64]time.Time)},
		large:      make(chan struct{}, largeAtOnce),
	}
	for _, a := range attributes() {
		h.attributes[a.name] = a
		h.order = append(h.order, a.name)
	}
	for i := range h.defaults {
		h.defaults[i].Settings = queue.DefaultSettings()
		h.defaults[i].Settings.FIFO = i == 1
		h.defaults[i].arn = func(name string) string { return name }
	}
	h.drain, h.stop = context.WithCancel(context.Background())
	h.calls.New = func() any { return &call{h: h} }
	return h, nil
}

// Drain ends all waiting receives, and later ones: they answer that there is no message.
func (h *Handler) Drain() { h.stop() }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := h.calls.Get().(*call)
	c.begin(w, r)
	c.serve()
	if c.end() {
		h.calls.Put(c)
	}
}

// call is one request in progress.
type call struct {
	h   *Handler
	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context //nolint:containedctx // of this request; a call is its stack frame

	id     string // of the request
	region string
	sender string   // the access key, if it names one
	queues []string // to which the access key is limited
	op     string
	in     []byte // the body
	out    encoder
	req    request
	queue  queue.Queue // of operations on one

	given  []queue.Receipt // messages being sent to the caller
	byName bool            // the receiver gave its name
}

func (c *call) begin(w http.ResponseWriter, r *http.Request) {
	*c = call{h: c.h, in: c.in[:0], out: encoder{buf: c.out.buf[:0]}, w: w, r: r, ctx: r.Context(), id: newRequestID()}
}

// end clears the request. It reports whether to reuse the buffers.
func (c *call) end() bool {
	*c = call{h: c.h, in: c.in, out: c.out}
	return cap(c.in) <= keptBuffer && cap(c.out.buf) <= keptBuffer
}

// newRequestID returns a random UUID, for logs; it guards nothing.
func newRequestID() string {
	var out [36]byte
	a, b := rand.Uint64(), rand.Uint64()
	for i := range out {
		switch i {
		case 8, 13, 18, 23:
			out[i] = '-'
			continue
		case 19:
			a, b = b, a
		}
		out[i] = hexDigits[a&15]
		a >>= 4
	}
	out[14], out[19] = '4', "89ab"[b&3]
	return string(out[:])
}

func (c *call) serve() {
	if c.r.Close || oneShot(c.r.UserAgent()) {
		announce(c.ctx)
	}
	if c.h.leaving.Load() {
		c.w.Header().Set("Connection", "close")
		announce(c.ctx)
	}
	if f := c.h.hosts.refuse(c.r); f != nil {
		c.refuse(f)
		return
	}
	if c.page() {
		return
	}
	if err := c.read(); err != nil {
		c.refuse(c.faultOf(err))
		return
	}
	if err := c.run(); err != nil {
		c.refuse(c.faultOf(err))
		return
	}
	c.reply(http.StatusOK)
}

// run verifies, decodes and performs the operation, and encodes the answer.
func (c *call) run() error {
	if v := c.h.cfg.Verifier; v != nil {
		if err := v.Verify(c.r, c.in, time.Now()); err != nil {
			return verdict(err)
		}
	}
	c.region, c.sender = scope(c.r, c.h.cfg.Region)
	if err := c.decode(); err != nil {
		return err
	}
	op, ok := c.h.operations[c.op]
	if !ok {
		return actionUnknown.text("The action %.100s is not valid for this endpoint.", c.op)
	}
	if err := c.permit(op); err != nil {
		return err
	}
	wait := time.Duration(min(max(c.req.Wait.or(int64(queue.MaxWait/time.Second)), 0), int64(queue.MaxWait/time.Second))) * time.Second
	if !op.waits {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(c.ctx, callPatience+wait)
	defer cancel()
	c.ctx = ctx
	if op.queue {
		if err := c.find(); err != nil {
			return err
		}
	}
	c.out.begin(c.op, op.answers)
	if err := op.run(c); err != nil {
		return err
	}
	if op.ends {
		c.h.kinds.works(c.kind())
	}
	c.out.end(c.op, op.answers, c.id)
	return nil
}

// faultOf converts an error for the caller. It logs errors of the server once.
func (c *call) faultOf(err error) *fault {
	f := faultOf(err)
	if _, said := errors.AsType[*fault](err); !said && !f.sender() && c.r.Context().Err() == nil {
		c.h.log.Error("SQS call failed", "operation", c.op, "queue", c.queue.Name, "request", c.id, "error", err)
	}
	return f
}

// decode determines the operation, in either protocol.
func (c *call) decode() error {
	if target := c.r.Header.Get("X-Amz-Target"); target != "" {
		op, ok := strings.CutPrefix(target, "AmazonSQS.")
		if c.op = op; !ok {
			return actionUnknown.text("The target %.100s is not of this service.", target)
		}
		return decodeJSON(c.in, &c.req)
	}
	c.out.xml = true
	f := formReader{r: &c.req}
	if err := f.read(c.r.URL.RawQuery); err != nil {
		return err
	}
	if c.r.Method == http.MethodPost {
		if err := f.read(string(c.in)); err != nil {
			return err
		}
	}
	f.finish()
	if c.op = f.action; c.op == "" {
		return actionMissing.text("The request must contain the parameter Action, or the header X-Amz-Target.")
	}
	return nil
}

func (c *call) read() error {
	size := c.r.ContentLength
	switch c.r.Method {
	case http.MethodPost:
	case http.MethodGet, http.MethodHead:
		return nil
	default:
		return unsupported.text("The method %.20s is not supported.", c.r.Method)
	}
	if size == 0 {
		return nil
	}
	if size > MaxRequest {
		c.w.Header().Set("Connection", "close") // the rest is not worth reading
		announce(c.ctx)
		return tooLarge.text("The request has %d bytes, more than %d.", size, MaxRequest)
	}
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyPatience))   // not every writer can
	defer func() { _ = control.SetReadDeadline(time.Time{}) }() // or waiting would end
	if size < 0 || size > largeBody {
		select {
		case c.h.large <- struct{}{}:
			defer func() { <-c.h.large }()
		case <-time.After(bodyPatience):
			return busyFor(time.Second, "too many large requests at once")
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	if size > 0 {
		if int64(cap(c.in)) < size {
			c.in = make([]byte, 0, size)
		}
		c.in = c.in[:size]
		if _, err := io.ReadFull(c.r.Body, c.in); err != nil {
			return malformed.text("The body could not be read: %v.", err)
		}
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, MaxRequest))
	if c.in = body; err != nil {
		return tooLarge.text("The body could not be read: %v.", err)
	}
	return nil
}

// find finds the queue that a member or the path of the request names.
func (c *call) find() error {
	name, err := c.queueName()
	if err != nil {
		return err
	}
	if !validName(name) {
		return noQueue()
	}
	c.queue, err = c.h.engine.Queue(c.ctx, name)
	return err
}

func (c *call) queueName() (string, error) {
	at := cmp.Or(c.req.QueueURL, strings.TrimSuffix(c.r.URL.Path, "/"))
	if at == "" {
		return "", absent("QueueUrl")
	}
	i := strings.LastIndexByte(at, '/')
	if i < 0 {
		return "", address.text("The address %.200s is not valid for this endpoint.", at)
	}
	return at[i+1:], nil
}

// arn returns a queue's ARN in the caller's region.
func (c *call) arn(name string) string {
	return "arn:aws:sqs:" + c.region + ":" + c.h.cfg.Account + ":" + name
}

// url returns a queue's URL at the host that the caller used.
func (c *call) url(name string) string {
	scheme := "http://"
	if c.r.TLS != nil {
		scheme = "https://"
	}
	return scheme + c.r.Host + "/" + c.h.cfg.Account + "/" + name
}

// retryAfter sets headers that say how long to wait.
func retryAfter(header http.Header, d time.Duration) {
	header.Set("X-Amz-Retry-After", strconv.FormatInt(d.Milliseconds(), 10))
	header.Set("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
}
