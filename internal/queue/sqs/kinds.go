package sqs

import (
	"context"
	"sync"
)

// kinds are the programs that have ended deliveries, by access key and User-Agent.
// Another one that receives and goes, as a viewer of messages does, is no worker.
type kinds struct {
	mu    sync.Mutex // guards works
	known map[string]bool
}

// maxKinds bounds the programs that are told apart. When there are more, all are
// taken for workers.
const maxKinds = 1000

// kind is what sort of program calls.
func (c *call) kind() string { return c.sender + " " + c.r.UserAgent() }

// works notes that a program ends deliveries.
func (k *kinds) works(kind string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = make(map[string]bool)
	}
	if len(k.known) < maxKinds {
		k.known[kind] = true
	}
}

// views reports whether a program has never ended a delivery, though others have.
func (k *kinds) views(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.known) > 0 && len(k.known) < maxKinds && !k.known[kind]
}

// ofKind notes what program receives over a connection.
func ofKind(ctx context.Context, kind string) {
	if p, ok := ctx.Value(peerKey{}).(*peer); ok {
		if was := p.kind.Load(); was == nil || *was != kind {
			p.kind.Store(&kind)
		}
	}
}
