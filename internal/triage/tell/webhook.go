package tell

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// Secret is a text that does not print.
type Secret string

// String hides the secret.
func (Secret) String() string { return "[redacted]" }

// GoString hides the secret.
func (Secret) GoString() string { return "[redacted]" }

// The headers of a webhook.
const (
	EventHeader     = "X-Bezoar-Event"     // the event's id, the same each time that it is tried
	SignatureHeader = "X-Bezoar-Signature" // t=SECONDS,v1=HEX: see Sign
)

// Tries is how often a listener that fails is tried.
const Tries = 4

const (
	postTimeout = 5 * time.Second
	postBase    = 500 * time.Millisecond
	postCap     = 5 * time.Second
)

// newClient returns a client that uses each connection once, because the
// library would send an event again by itself on one that has gone stale, and
// that follows no redirect, because the signature is for one listener.
func newClient() *http.Client {
	return &http.Client{
		Timeout:       postTimeout,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: postTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Sign is the signature of a body that was sent at a time: HMAC-SHA-256, in
// hexadecimal digits, over the seconds since 1970, a dot, and the body.
func Sign(secret Secret, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.", at.Unix())
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Webhook is a listener for JSON documents.
type Webhook struct {
	URL    string
	Secret Secret // signs what is posted; "": unsigned
}

// Post tries until the listener has taken the document, or will not. event is its
// id: the same each time that it is tried.
func (t *Teller) Post(ctx context.Context, w Webhook, event string, body []byte) error {
	waits := backoff.Config{Base: postBase, Cap: postCap}
	for try := 1; ; try++ {
		again, err := t.postOnce(ctx, w, event, body)
		if err == nil {
			return nil
		}
		if !again || try == Tries {
			return fmt.Errorf("post to %s, try %d: %w", host(w.URL), try, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("post to %s, try %d: %w", host(w.URL), try, ctx.Err())
		case <-time.After(waits.Wait(try, rand.Float64())):
		}
	}
}

func (t *Teller) postOnce(ctx context.Context, w Webhook, event string, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return false, bare(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "bezoar")
	req.Header.Set(EventHeader, event)
	if w.Secret != "" {
		now := t.c.Now()
		req.Header.Set(SignatureHeader, "t="+strconv.FormatInt(now.Unix(), 10)+",v1="+Sign(w.Secret, now, body))
	}
	answer, err := t.client.Do(req)
	if err != nil {
		return ctx.Err() == nil, bare(err)
	}
	defer answer.Body.Close()
	if _, err := io.CopyN(io.Discard, answer.Body, 4<<10); err != nil && !errors.Is(err, io.EOF) && answer.StatusCode/100 != 2 {
		return true, bare(err)
	}
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	return answer.StatusCode/100 == 5 || answer.StatusCode == http.StatusTooManyRequests, fmt.Errorf("the listener answered %s", answer.Status)
}

// bare drops the URL that the library puts before an error: its path may be a
// secret.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func host(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the webhook"
	}
	return u.Host
}
