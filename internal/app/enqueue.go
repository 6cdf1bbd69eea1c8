package app

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/gateway"
	"github.com/bezoar-dev/bezoar/queue"
)

// The attributes of a message that was an HTTP request.
const (
	attrMethod      = "HttpMethod"
	attrTarget      = "HttpTarget"
	attrHost        = "HttpHost"
	attrContentType = "ContentType"
	attrRequestID   = "RequestId"
	attrEncoding    = "BodyEncoding" // base64, when the body is no text; none, when there was none
)

// enqueuer sends requests to one queue. A request's body becomes the message's body. Without a body it is the target.
type enqueuer struct {
	queues *queue.Engine
	queue  string
	key    fingerprint.Key
}

func (q enqueuer) Enqueue(ctx context.Context, w gateway.Enqueued) (string, error) {
	in := queue.SendInput{Body: w.Body, Attributes: map[string]queue.Attribute{}, Sender: "gateway"}
	text := func(name, value string) {
		if value != "" {
			in.Attributes[name] = queue.Attribute{DataType: "String", String: strings.ToValidUTF8(value, "\uFFFD")}
		}
	}
	text(attrMethod, w.Method)
	text(attrTarget, w.Target)
	text(attrHost, w.Host)
	text(attrContentType, w.ContentType)
	text(attrRequestID, w.ID)
	switch {
	case len(w.Body) == 0:
		in.Body = []byte(w.Target)
		text(attrEncoding, "none")
	case !plainText(w.Body):
		in.Body = base64.StdEncoding.AppendEncode(nil, w.Body)
		text(attrEncoding, "base64")
	}
	if strings.HasSuffix(q.queue, ".fifo") {
		in.Group, in.Dedup = "http", dedup(w)
	}
	sent, err := q.queues.Send(ctx, q.queue, in)
	switch {
	case errors.Is(err, queue.ErrTooLarge):
		return "", &gateway.EnqueueError{Status: http.StatusRequestEntityTooLarge, Type: "too-large", Detail: "The request is longer than the queue's messages may be."}
	case errors.Is(err, queue.ErrSchema):
		return "", &gateway.EnqueueError{Status: http.StatusUnprocessableEntity, Type: "schema", Detail: "The queue's schema does not allow the body: " + err.Error()}
	case errors.Is(err, queue.ErrInvalid):
		return "", &gateway.EnqueueError{Status: http.StatusBadRequest, Type: "invalid", Detail: "The queue refuses the request: " + err.Error()}
	case err != nil:
		return "", err
	}
	return q.ticket(sent), nil
}

// dedup returns the deduplication id: equal for requests to the same target with the same Idempotency-Key, which may be
// longer than a deduplication id. A request id is not used, because several requests may have the same one.
func dedup(w gateway.Enqueued) string {
	if w.Key == "" {
		return rand.Text()
	}
	sum := sha256.Sum256([]byte(w.Method + " " + w.Target + "\x00" + w.Key))
	return hex.EncodeToString(sum[:])
}

// plainText reports whether SQS clients can get b unchanged.
func plainText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return false
		}
	}
	return true
}

// ticket names the message's place, with a proof that this deployment issued the ticket.
func (q enqueuer) ticket(s queue.Sent) string {
	raw := binary.AppendUvarint(nil, uint64(s.Sequence)) //nolint:gosec // sequences are positive
	raw = append(raw, s.ID...)
	raw = append(raw, 0)
	raw = append(raw, q.queue...)
	return base64.RawURLEncoding.EncodeToString(append(raw, q.proof(raw)...))
}

const proofSize = 12

func (q enqueuer) proof(raw []byte) []byte {
	mac := hmac.New(sha256.New, q.key[:])
	mac.Write([]byte("bezoar ticket\x00"))
	mac.Write(raw)
	return mac.Sum(nil)[:proofSize]
}

func (q enqueuer) Status(ctx context.Context, ticket string) (gateway.Status, error) {
	raw, err := base64.RawURLEncoding.DecodeString(ticket)
	if err != nil || len(raw) < proofSize || len(raw) > 512 {
		return gateway.Status{}, gateway.ErrNoTicket
	}
	raw, proof := raw[:len(raw)-proofSize], raw[len(raw)-proofSize:]
	if !hmac.Equal(proof, q.proof(raw)) {
		return gateway.Status{}, gateway.ErrNoTicket
	}
	seq, n := binary.Uvarint(raw)
	id, name, ok := strings.Cut(string(raw[max(n, 0):]), "\x00")
	if n <= 0 || !ok {
		return gateway.Status{}, gateway.ErrNoTicket
	}
	return q.look(ctx, name, id, int64(seq)) //nolint:gosec // this deployment issued it
}

// look finds the message, or its letter. If an accepted message is in neither place, it is done, or older than its queue's
// retention.
func (q enqueuer) look(ctx context.Context, name, id string, seq int64) (gateway.Status, error) {
	s := gateway.Status{Queue: name, State: gateway.StateDone}
	found, err := q.queues.Peek(ctx, name, seq-1, 1)
	switch {
	case errors.Is(err, queue.ErrQueueNotFound):
		return s, gateway.ErrNoTicket
	case err != nil:
		return s, fmt.Errorf("look for message %s: %w", id, err)
	case len(found) == 1 && found[0].ID == id:
		s.State, s.Attempts, s.Since = gateway.StateQueued, found[0].Receives, found[0].Sent
		if found[0].InFlight {
			s.State = gateway.StateRunning
		}
		return s, nil
	}
	letter, err := q.queues.Letter(ctx, id)
	switch {
	case errors.Is(err, queue.ErrLetterNotFound):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("look for the letter of message %s: %w", id, err)
	}
	s.State, s.Attempts, s.Since = gateway.StateDead, letter.Letter.Receives, letter.Sent
	s.Reason = letter.Letter.Class.String() + ": " + letter.Letter.Reason
	return s, nil
}
