package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	policy "github.com/bezoar-dev/bezoar/policy/health"
)

// counts returns what d has counted since the last time.
func counts(d *Dependency) string {
	var t policy.Tally
	d.drain(&t)
	return fmt.Sprintf("good %d, failed %d, timeouts %d", t.Good, t.Failed, t.Timeouts)
}

func TestClassify(t *testing.T) {
	for want, errs := range map[Result][]error{
		Good:    {nil},
		Failed:  {io.EOF, errSecret, &net.OpError{Op: "dial", Err: errors.New("refused")}},
		Timeout: {context.DeadlineExceeded, os.ErrDeadlineExceeded, fmt.Errorf("query: %w", context.DeadlineExceeded), &net.DNSError{IsTimeout: true}},
		Ignored: {context.Canceled, fmt.Errorf("query: %w", context.Canceled)},
	} {
		for _, err := range errs {
			if got := Classify(err); got != want {
				t.Errorf("%v is %v, want %v", err, got, want)
			}
		}
	}
}

func TestTrack(t *testing.T) {
	noRows := errors.New("no rows")
	d := newHealth(t, bare(), nil).Dependency("db", DependencyConfig{Classify: func(err error) Result {
		if errors.Is(err, noRows) {
			return Good
		}
		return Classify(err)
	}})
	ctx := t.Context()
	cancelled, cancel := context.WithCancel(ctx)
	for _, tc := range []struct {
		name string
		f    func(context.Context) error
		want string
	}{
		{"well", func(context.Context) error { return nil }, "good 1, failed 0, timeouts 0"},
		{"an answer", func(context.Context) error { return noRows }, "good 1, failed 0, timeouts 0"},
		{"an error", func(context.Context) error { return errSecret }, "good 0, failed 1, timeouts 0"},
		{"late", func(context.Context) error { return context.DeadlineExceeded }, "good 0, failed 0, timeouts 1"},
		{"given up", func(context.Context) error { cancel(); return errors.New("driver: bad connection") }, "good 0, failed 0, timeouts 0"},
		{"over before it began", func(context.Context) error { return context.Canceled }, "good 0, failed 0, timeouts 0"},
	} {
		var want error
		err := d.Track(cancelled, func(ctx context.Context) error {
			want = tc.f(ctx)
			return want
		})
		if got := counts(d); got != tc.want || !errors.Is(err, want) {
			t.Errorf("%s: %s, %v, want %s, %v", tc.name, got, err, tc.want, want)
		}
	}
	expired, cancel := context.WithTimeout(ctx, -1)
	defer cancel()
	if err := d.Track(expired, func(ctx context.Context) error { return ctx.Err() }); err == nil || counts(d) != "good 0, failed 0, timeouts 0" {
		t.Errorf("a deadline that was over before it began: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_ = d.Track(ctx, func(context.Context) error { panic("oh") })
	}()
	if got := counts(d); got != "good 0, failed 1, timeouts 0" {
		t.Errorf("a panic: %s", got)
	}
}

// overdue is a context whose deadline has passed once done is closed.
type overdue struct {
	context.Context
	done chan struct{}
}

func (o *overdue) Done() <-chan struct{} { return o.done }

func (o *overdue) Err() error {
	select {
	case <-o.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// late is a context whose deadline has passed, and which has not noticed.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }

func TestADeadlineThatHasPassedDecides(t *testing.T) {
	d := newHealth(t, bare(), nil).Dependency("db", DependencyConfig{})
	if got := d.result(late{t.Context()}, errors.New("request canceled")); got != Timeout {
		t.Errorf("%v", got)
	}
	if got := d.result(late{t.Context()}, nil); got != Good {
		t.Errorf("an answer is an answer, and it is %v", got)
	}
}

func TestTrackAllocatesNothing(t *testing.T) {
	d := newHealth(t, bare(), nil).Dependency("db", DependencyConfig{})
	ctx := t.Context()
	f := func(context.Context) error { return nil }
	if n := testing.AllocsPerRun(100, func() { _ = d.Track(ctx, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWrap(t *testing.T) {
	hang, hanging := make(chan struct{}), make(chan struct{}, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch s := r.URL.Query().Get("status"); s {
		case "cut":
			panic(http.ErrAbortHandler)
		case "hang":
			select {
			case hanging <- struct{}{}:
			default: // nobody waits for it
			}
			select {
			case <-r.Context().Done():
			case <-hang:
			}
		default:
			status, err := strconv.Atoi(s)
			if err != nil {
				t.Error(err)
			}
			w.WriteHeader(status)
		}
	}))
	defer srv.Close()
	defer close(hang)
	d := newHealth(t, bare(), nil).Dependency("api", DependencyConfig{})
	client := &http.Client{Transport: d.Wrap(&http.Transport{})}
	defer client.CloseIdleConnections() // goleak sees if it does nothing
	call := func(ctx context.Context, status string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"?status="+status, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	for status, want := range map[string]string{
		"200": "good 1, failed 0, timeouts 0", "404": "good 1, failed 0, timeouts 0", "429": "good 0, failed 0, timeouts 0",
		"500": "good 0, failed 1, timeouts 0", "503": "good 0, failed 1, timeouts 0", "504": "good 0, failed 0, timeouts 1",
	} {
		if err := call(t.Context(), status); err != nil || counts(d) == "" {
			t.Errorf("%s: %v", status, err)
		}
		_ = call(t.Context(), status)
		if got := counts(d); got != want {
			t.Errorf("%s: %s, want %s", status, got, want)
		}
	}
	if err := call(t.Context(), "cut"); err == nil || counts(d) != "good 0, failed 1, timeouts 0" {
		t.Errorf("a broken connection: %v", err)
	}
	short := &overdue{Context: t.Context(), done: make(chan struct{})}
	go func() { <-hanging; close(short.done) }()
	if err := call(short, "hang"); !errors.Is(err, context.DeadlineExceeded) || counts(d) != "good 0, failed 0, timeouts 1" {
		t.Errorf("a deadline: %v", err)
	}
	if err := call(short, "200"); err == nil || counts(d) != "good 0, failed 0, timeouts 0" {
		t.Errorf("a deadline that was over before: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	go func() { <-hanging; cancel() }()
	if err := call(gone, "hang"); !errors.Is(err, context.Canceled) || counts(d) != "good 0, failed 0, timeouts 0" {
		t.Errorf("a caller who gave up: %v", err)
	}
	// A timeout that is over before the request has begun says nothing.
	patient, got := &http.Client{Transport: client.Transport, Timeout: 20 * time.Millisecond}, ""
	for ; got != "good 0, failed 0, timeouts 1" && patient.Timeout < time.Minute; patient.Timeout *= 5 {
		if _, err := patient.Get(srv.URL + "?status=hang"); err == nil {
			t.Fatal("an answer came")
		}
		got = counts(d)
	}
	if got != "good 0, failed 0, timeouts 1" {
		t.Errorf("the client's own timeout: %s", got)
	}
}

func TestWrapOfNothingIsTheDefault(t *testing.T) {
	d := newHealth(t, bare(), nil).Dependency("api", DependencyConfig{})
	if rt := d.Wrap(nil).(*tripper); rt.next != http.DefaultTransport {
		t.Errorf("%+v", rt)
	}
}
