package health

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"
)

// Classify returns how an error of a call counts by default: nil is Good, a deadline or
// another error with a Timeout method is Timeout, a caller that gave up is Ignored,
// everything else is Failed.
func Classify(err error) Result {
	switch {
	case err == nil:
		return Good
	case errors.Is(err, context.Canceled):
		return Ignored
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() {
		return Timeout
	}
	return Failed
}

// result is how a call ended that was made with a context. One that is over
// decides, however a driver puts it; http.Client gives up at its deadline, and
// not always through the context.
func (d *Dependency) result(ctx context.Context, err error) Result {
	if err == nil {
		return (*d.classify.Load())(nil)
	}
	over := ctx.Err()
	deadline, ok := ctx.Deadline()
	switch {
	case errors.Is(over, context.DeadlineExceeded), ok && !time.Now().Before(deadline):
		return Timeout
	case over != nil:
		return Ignored
	}
	return (*d.classify.Load())(err)
}

// Track calls f, counts how long it took and how it ended, and returns its
// error. A panic counts as Failed and goes on. A call whose context is over before
// it begins is made, and ignored.
//
//	err := db.Track(ctx, func(ctx context.Context) error {
//		return pool.QueryRowContext(ctx, query, id).Scan(&name)
//	})
//
// What is an error and yet an answer, such as sql.ErrNoRows, is for
// DependencyConfig.Classify.
func (d *Dependency) Track(ctx context.Context, f func(context.Context) error) error {
	over := ctx.Err() != nil
	start, result := time.Now(), Failed
	defer func() {
		if !over {
			d.Observe(time.Since(start), result)
		}
	}()
	err := f(ctx)
	result = d.result(ctx, err)
	return err
}

// Wrap returns a RoundTripper that counts every request that rt makes, up to the
// head of its answer. nil means http.DefaultTransport. Answers are Good, but for
// 504 (Timeout), the other server errors (Failed) and 429 (Ignored).
func (d *Dependency) Wrap(rt http.RoundTripper) http.RoundTripper {
	rt = cmp.Or(rt, http.DefaultTransport)
	return &tripper{d, rt}
}

type tripper struct {
	d    *Dependency
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	start, result := time.Now(), Failed
	over := r.Context().Err() != nil
	defer func() {
		if !over {
			t.d.Observe(time.Since(start), result)
		}
	}()
	resp, err := t.next.RoundTrip(r)
	if result = t.d.result(r.Context(), err); err == nil && result == Good {
		result = answered(resp.StatusCode)
	}
	return resp, err
}

// answered is how a call ended that got an answer.
func answered(status int) Result {
	switch {
	case status == http.StatusGatewayTimeout:
		return Timeout
	case status >= 500:
		return Failed
	case status == http.StatusTooManyRequests:
		return Ignored
	}
	return Good
}

// CloseIdleConnections closes those of the transport beneath.
func (t *tripper) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
