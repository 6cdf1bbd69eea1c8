package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// secretMark is where nodes that share a store keep a trace of their secret.
const (
	secretMark    = "secret"
	secretMarkFor = 365 * 24 * time.Hour
)

// compareSecret logs an error if this store was used with another secret before: the state directory was lost, or another
// node has its own secret. Such nodes work, but separately: they do not recognise each other's verdicts, and count the same
// caller under different keys. Nobody would notice that.
func (a *App) compareSecret(ctx context.Context, key [32]byte) {
	if a.cfg.StateDir == "" {
		return
	}
	switch same, err := sameSecret(ctx, a.stores.Queue, key); {
	case err != nil:
		a.log.Warn("cannot check whether all nodes of this store have the same secret", "err", err)
	case !same:
		a.log.Error("this store was used with another secret: its verdicts, quotas and dead letters of requests match no new request",
			"secret", "the file secret in state_dir: restore it from a backup, or copy it from one node to all; if the new one has been in use for long, keep it",
			"state_dir", a.cfg.StateDir)
	}
}

// sameSecret compares the secret with the one that was used last, and stores a trace of it. The trace does not reveal the
// secret.
func sameSecret(ctx context.Context, store queue.Marks, key [32]byte) (bool, error) {
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("which secret is it?"))
	mine := hex.EncodeToString(mac.Sum(nil)[:8])
	found, err := store.Marks(ctx, secretMark)
	if err != nil {
		return false, fmt.Errorf("read the trace of the secret: %w", err)
	}
	same, version := true, int64(0)
	for _, m := range found {
		var theirs string
		if m.Key != secretMark || json.Unmarshal(m.Doc, &theirs) != nil {
			continue
		}
		same, version = theirs == mine, m.Version
	}
	doc, err := json.Marshal(mine)
	if err != nil {
		return same, err
	}
	// A node that loses a race against another node stores its trace at the next start.
	_, err = store.PutMark(ctx, queue.Mark{Key: secretMark, Version: version, Doc: doc, TTL: secretMarkFor})
	if err != nil && !errors.Is(err, queue.ErrConflict) {
		return same, fmt.Errorf("store a trace of the secret: %w", err)
	}
	return same, nil
}
