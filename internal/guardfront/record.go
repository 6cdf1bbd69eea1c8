package guardfront

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Bounds of a Recorder.
const (
	DefaultRecordBytes = 64 << 20 // of a file; there are two
	MaxRecordedQuery   = 1 << 20  // bytes of a body; longer ones are left out
	recordQueue        = 1024     // queries that wait to be written
	recordWaiting      = 16 << 20 // bytes of them
	recordRetry        = 10 * time.Second
)

// RecorderConfig says where queries are recorded. Only File is required.
type RecorderConfig struct {
	File     string
	MaxBytes int64 // of the file, which then becomes File.1 and replaces the previous one; default 64 MiB
	Log      *slog.Logger
}

// Validate reports every impossible field.
func (c RecorderConfig) Validate() error {
	var errs faults.List
	errs.If(c.File == "", "File is empty")
	errs.If(c.MaxBytes < 0, "MaxBytes is %d, want more than 0", c.MaxBytes)
	return errors.Join(errs...)
}

// Recorder writes the queries that guards have judged to a file, as one line of JSON each, in the form of
// guard.ParseRecord. So other limits can be tried on them later. The file contains complete queries, and only its owner can
// read it. It does not contain credentials (Authorization, cookies).
//
// A request never waits for it: what cannot be written fast enough is dropped, and counted. It is safe for concurrent use.
type Recorder struct {
	cfg     RecorderConfig
	queue   chan *recordedQuery
	waiting atomic.Int64

	recorded, dropped atomic.Int64

	file *os.File // this and the following belong to Run
	size int64
	next time.Time // after a fault: when to try again
}

// NewRecorder makes a recorder. Run writes.
func NewRecorder(cfg RecorderConfig) (*Recorder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("record of queries: %w", err)
	}
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultRecordBytes)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Recorder{cfg: cfg, queue: make(chan *recordedQuery, recordQueue)}, nil
}

// Stats counts queries.
type Stats struct {
	Recorded int64 `json:"recorded"`
	Dropped  int64 `json:"dropped"` // too long, not text, too fast for the disk
}

// Stats returns the counters so far.
func (r *Recorder) Stats() Stats {
	return Stats{Recorded: r.recorded.Load(), Dropped: r.dropped.Load()}
}

// recordedQuery is a line of the file.
type recordedQuery struct {
	At              time.Time     `json:"at"`
	Kind            guard.Kind    `json:"kind"`
	Method          string        `json:"method,omitempty"`
	Path            string        `json:"path,omitempty"` // with the URL's query
	Body            string        `json:"body"`
	Dialect         string        `json:"dialect,omitempty"`
	ContentType     string        `json:"content_type,omitempty"`
	ContentEncoding string        `json:"content_encoding,omitempty"`
	Caller          string        `json:"caller,omitempty"`
	Class           string        `json:"class,omitempty"` // when a header decided on it, which is not recorded
	OpaqueID        string        `json:"opaque_id,omitempty"`
	APIKey          string        `json:"api_key,omitempty"` // its id
	User            string        `json:"user,omitempty"`
	Verdict         guard.Outcome `json:"verdict"`
	TookMS          float64       `json:"took_ms,omitempty"`
}

func (q *recordedQuery) bytes() int64 {
	return int64(len(q.Body) + len(q.Path) + 512)
}

// record queues a query, or drops it.
func (r *Recorder) record(q *recordedQuery) {
	n := q.bytes()
	if r.waiting.Add(n) > recordWaiting {
		r.waiting.Add(-n)
		r.dropped.Add(1)
		return
	}
	select {
	case r.queue <- q:
	default:
		r.waiting.Add(-n)
		r.dropped.Add(1)
	}
}

// Run writes queries until ctx ends, and then those that wait.
func (r *Recorder) Run(ctx context.Context) error {
	defer r.close()
	for {
		select {
		case q := <-r.queue:
			r.write(q)
		case <-ctx.Done():
			for {
				select {
				case q := <-r.queue:
					r.write(q)
				default:
					return nil
				}
			}
		}
	}
}

// write appends a line. If the disk is full, it tries again later, and the gateway goes on.
func (r *Recorder) write(q *recordedQuery) {
	r.waiting.Add(-q.bytes())
	line, err := json.Marshal(q)
	if err == nil {
		err = r.append(append(line, '\n'))
	}
	if err == nil {
		r.recorded.Add(1)
		return
	}
	r.dropped.Add(1)
	if !errors.Is(err, errWaiting) {
		r.next = time.Now().Add(recordRetry)
		r.close()
		r.cfg.Log.Error("a query was not recorded; it is tried again later", "file", r.cfg.File, "err", err)
	}
}

// errWaiting says that the file had a fault recently.
var errWaiting = errors.New("waits after a fault")

func (r *Recorder) append(line []byte) error {
	if r.file == nil {
		if time.Now().Before(r.next) {
			return errWaiting
		}
		if err := r.open(); err != nil {
			return err
		}
	}
	if r.size > 0 && r.size+int64(len(line)) > r.cfg.MaxBytes {
		r.close()
		if err := os.Rename(r.cfg.File, r.cfg.File+".1"); err != nil {
			return fmt.Errorf("put the full file aside: %w", err)
		}
		if err := r.open(); err != nil {
			return err
		}
	}
	n, err := r.file.Write(line)
	r.size += int64(n)
	return err
}

// open opens the file with access for its owner only, and changes an existing file's mode.
func (r *Recorder) open() error {
	if info, err := os.Stat(r.cfg.File); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for a reader
		return fmt.Errorf("%s is not a file", r.cfg.File)
	}
	f, err := os.OpenFile(r.cfg.File, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", r.cfg.File)
	}
	if err == nil && info.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	if err == nil {
		err = endLine(f, info.Size())
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.file, r.size = f, info.Size()
	return nil
}

// endLine ends an incomplete line, left by a full disk or by the end of a process.
func endLine(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err := f.WriteString("\n")
	return err
}

func (r *Recorder) close() {
	if r.file == nil {
		return
	}
	if err := r.file.Close(); err != nil {
		r.cfg.Log.Error("the record of queries was not closed", "file", r.cfg.File, "err", err)
	}
	r.file, r.size = nil, 0
}

// Record says which of a route's queries are recorded, and by which recorder.
type Record struct {
	Recorder *Recorder
	Sample   float64 // share of the queries; 0 means all
}

// take returns the line of a query as received, before any cap, if the query is sampled; otherwise nil.
func (g *Guard) take(q *guard.Query, who *guard.Caller) *recordedQuery {
	c := g.Record
	if c.Recorder == nil || c.Sample > 0 && c.Sample < 1 && rand.Float64() >= c.Sample {
		return nil
	}
	if len(q.Body) > MaxRecordedQuery || !utf8.Valid(q.Body) {
		c.Recorder.dropped.Add(1)
		return nil
	}
	line := &recordedQuery{
		At: time.Now(), Kind: q.Kind, Method: q.Method, Body: string(q.Body), Dialect: q.Dialect, ContentType: q.ContentType, ContentEncoding: q.ContentEncoding,
		Caller: q.Caller, OpaqueID: who.OpaqueID, APIKey: who.APIKey, User: who.User,
	}
	line.target(q)
	named := *who
	named.Header = nil
	if g.Guard.Classify(named) != q.Class {
		line.Class = q.Class
	}
	return line
}

func (q *recordedQuery) target(of *guard.Query) {
	if q.Path = (&url.URL{Path: of.Path}).EscapedPath(); of.RawQuery != "" {
		q.Path += "?" + of.RawQuery
	}
}

// taken records a text that was judged within a request.
func (g *Guard) taken(q *guard.Query, who *guard.Caller, v guard.Outcome) {
	if line := g.take(q, who); line != nil {
		line.Verdict = v
		g.Record.Recorder.record(line)
	}
}
