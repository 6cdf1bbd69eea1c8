package push

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
	"github.com/bezoar-dev/bezoar/queue"
)

// maxAnswer is the most bytes read of an answer, and maxReason the most kept as the reason.
const (
	maxAnswer = 64 << 10
	maxReason = 300
)

// deliver sends one request and settles its message.
func (p *Pusher) deliver(ctx context.Context, m queue.Message, began underWay) {
	outcome, after := p.send(ctx, m)
	overloaded := outcome.Class == bezoar.Throttled || outcome.Class == bezoar.Outage || outcome.Class == bezoar.Timeout
	holding := p.ended(began, outcome.Class == bezoar.Done, overloaded)
	if outcome.Class == bezoar.Crash && holding > 1 {
		// One death, and the request that caused it is unknown: it must not look like one equal failure per request.
		outcome.Failure, outcome.Reason = "", fmt.Sprintf("%s, with %d requests under way", outcome.Reason, holding)
	}
	var err error
	if outcome.Class == bezoar.Done {
		err = p.cfg.Queue.Delete(ctx, p.cfg.Name, m.Receipt)
	} else {
		err = p.cfg.Queue.Release(ctx, p.cfg.Name, queue.ReleaseInput{Receipt: m.Receipt, Outcome: &outcome, RetryAfter: after, Holding: holding})
	}
	if err != nil {
		p.cfg.Log.Error("push cannot settle", "queue", p.cfg.Name, "message", m.ID, "class", outcome.Class, "err", err)
	}
}

func (p *Pusher) send(ctx context.Context, m queue.Message) (o queue.Outcome, after time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	req, err := p.request(ctx, m)
	if err != nil {
		return queue.Outcome{Class: bezoar.Invalid, Failure: "push:request", Reason: err.Error()}, 0
	}
	res, err := p.client.Do(req)
	if err != nil {
		return broken(err), 0
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return broken(err), 0
	}
	return judge(res, text)
}

// request creates the HTTP request of a message. It has no GetBody, so that net/http never sends it twice.
func (p *Pusher) request(ctx context.Context, m queue.Message) (*http.Request, error) {
	at, method, body := *p.base, http.MethodPost, m.Body
	text := func(name string) string { return m.Attributes[name].String }
	if target := text("HttpTarget"); target != "" && (p.base.Path == "" || p.base.Path == "/") {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return nil, fmt.Errorf("the request's target: %w", err)
		}
		at.Path, at.RawPath, at.RawQuery = u.Path, u.RawPath, u.RawQuery
		method = text("HttpMethod")
	}
	switch text("BodyEncoding") {
	case "none": // unless somebody gave it one
		if string(body) == text("HttpTarget") {
			body = nil
		}
	case "base64":
		raw, err := base64.StdEncoding.DecodeString(string(body))
		if err != nil {
			return nil, fmt.Errorf("the body is not base64: %w", err)
		}
		body = raw
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, err
	}
	req.ContentLength, req.GetBody = int64(len(body)), nil
	if kind := text("ContentType"); kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("User-Agent", "bezoar")
	req.Header.Set("Bezoar-Message-Id", m.ID)
	req.Header.Set("Bezoar-Receive-Count", strconv.Itoa(m.Receives))
	if id := text("RequestId"); id != "" {
		req.Header.Set("X-Request-Id", id)
	}
	return req, nil
}

// judge classifies an answer.
func judge(res *http.Response, text []byte) (queue.Outcome, time.Duration) {
	o := queue.Outcome{Failure: "http:" + strconv.Itoa(res.StatusCode), Reason: res.Status}
	if line := firstLine(text); line != "" {
		o.Reason += ": " + line
	}
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return queue.Outcome{Class: bezoar.Done}, 0
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusServiceUnavailable:
		o.Class = bezoar.Throttled
		return o, retryAfter(res.Header.Get("Retry-After"), time.Now())
	case res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusGatewayTimeout:
		o.Class = bezoar.Outage
	case res.StatusCode == http.StatusBadRequest, res.StatusCode == http.StatusRequestEntityTooLarge,
		res.StatusCode == http.StatusUnsupportedMediaType, res.StatusCode == http.StatusUnprocessableEntity:
		o.Class = bezoar.Invalid
	case res.StatusCode == http.StatusRequestTimeout, res.StatusCode == http.StatusConflict, res.StatusCode == http.StatusTooEarly:
		o.Class = bezoar.Transient
	default:
		o.Class = bezoar.Bug
	}
	return o, 0
}

// broken classifies a request without an answer.
func broken(err error) queue.Outcome {
	o := queue.Outcome{Reason: strings.ToValidUTF8(err.Error(), "?")}
	var dial *net.OpError
	switch {
	case connlimit.Exhausted(err): // the server has received nothing of it
		o.Class, o.Failure = bezoar.Transient, "push:exhausted"
	case errors.Is(err, context.DeadlineExceeded):
		o.Class, o.Failure = bezoar.Timeout, "push:timeout"
	case errors.As(err, &dial) && dial.Op == "dial":
		o.Class, o.Failure = bezoar.Outage, "push:unreachable"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		o.Class, o.Failure = bezoar.Crash, "push:broken-off"
	default: // no address, no trusted certificate, not HTTP
		o.Class, o.Failure = bezoar.Outage, "push:unreachable"
	}
	return o
}

// retryAfter parses seconds or a date; it returns 0 for other values.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 {
		return min(time.Duration(n)*time.Second, queue.MaxVisibility)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), queue.MaxVisibility)
	}
	return 0
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(text), "?")), "\n")
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason], "")
	}
	return strings.TrimSpace(line)
}
