package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/outbox"
)

// maxAnswer is the maximum number of bytes read of an answer.
const maxAnswer = 4 << 10

// post sends one request and interprets its answer.
func (s *Sink) post(ctx context.Context, id string, header http.Header, body []byte) error {
	call, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(call, http.MethodPost, s.cfg.URL.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("post to %s: %w", s.cfg.URL.Host, bare(err))
	}
	req.Header = header
	req.Header.Set("User-Agent", "bezoar")
	if s.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.cfg.Token)
	}
	s.sign(req.Header, escape(id), body)
	answer, err := s.client.Do(req)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("post to %s: %w", s.cfg.URL.Host, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded):
		return &outbox.Failure{Class: bezoar.Timeout, Reason: fmt.Sprintf("%s did not answer within %v", s.cfg.URL.Host, s.cfg.Timeout)}
	case err != nil:
		return fmt.Errorf("post to %s: %w", s.cfg.URL.Host, bare(err))
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil && answer.StatusCode/100 != 2 {
		text = nil // the status is enough
	}
	return s.judge(answer, text)
}

// sign adds the Standard Webhooks headers.
func (s *Sink) sign(h http.Header, id string, body []byte) {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", at)
	var all []string
	for _, key := range s.cfg.Keys {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, at)
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(all) > 0 {
		h.Set("Webhook-Signature", strings.Join(all, " "))
	}
}

// judge decides whether an answer blames the event or the endpoint.
func (s *Sink) judge(answer *http.Response, text []byte) error {
	reason := fmt.Sprintf("%s answered %s", s.cfg.URL.Host, answer.Status)
	if line := firstLine(text); line != "" {
		reason += ": " + line
	}
	failed := func(class bezoar.Class) error {
		return &outbox.Failure{Class: class, Reason: reason, RetryAfter: retryAfter(answer.Header.Get("Retry-After"), time.Now())}
	}
	switch code := answer.StatusCode; code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return failed(bezoar.Throttled)
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly:
		return failed(bezoar.Transient)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return failed(bezoar.Outage)
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusGone, http.StatusMisdirectedRequest, http.StatusUnavailableForLegalReasons:
		return errors.New(reason)
	default:
		switch code / 100 {
		case 2:
			return nil
		case 4:
			return failed(bezoar.Invalid)
		case 5:
			return failed(bezoar.Transient)
		}
		return errors.New(reason)
	}
}

// retryAfter parses the header Retry-After, as seconds or as a date. It returns 0 if the
// header is missing or invalid.
func retryAfter(text string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(n)*time.Second, most)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}

// firstLine returns the first line of an answer for display.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	line = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(line, ""))
	return strings.ToValidUTF8(line[:min(len(line), 200)], "")
}

// bare removes the URL that net/http adds to errors, because the URL may contain secrets.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// reserved reports whether a header of an event must not be sent, because it concerns the
// connection or is set by this package.
func reserved(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent":
		return true
	}
	return strings.HasPrefix(name, "ce-") || strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, "proxy-")
}

// binary returns the headers and the body of an event in binary mode.
func (s *Sink) binary(r *outbox.Record) (http.Header, []byte) {
	h := http.Header{}
	for _, p := range outgoing.Headers(r) {
		if !reserved(p.Name) {
			h.Set(p.Name, p.Value)
		}
	}
	for _, p := range outgoing.Attributes(r, s.cfg.Source) {
		h.Set("Ce-"+p.Name, escape(p.Value))
	}
	h.Set("Content-Type", outgoing.ContentType(r))
	return h, r.Payload
}

// escape percent-encodes characters that headers cannot hold, as CloudEvents over HTTP
// requires.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// batchID returns the same ID for the same events.
func batchID(records []*outbox.Record) string {
	if len(records) == 1 {
		return records[0].ID
	}
	sum := sha256.New()
	for _, r := range records {
		fmt.Fprintf(sum, "%d %s ", len(r.ID), r.ID)
	}
	return "batch-" + hex.EncodeToString(sum.Sum(nil)[:16])
}
