package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"sync"
)

// maxDerived is the most signing keys kept: each is for one access key, day and region.
const maxDerived = 1024

type derivedID struct{ keyID, day, region string }

// derived caches signing keys. Only verified requests add to it, so a sender without a secret cannot fill it.
type derived struct {
	mu   sync.Mutex // guards keys
	keys map[derivedID][sha256.Size]byte
}

func (d *derived) get(id derivedID) (key [sha256.Size]byte, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key, ok = d.keys[id]
	return key, ok
}

// add empties the cache when it is full: current keys come back with their next request, and those of earlier days do not.
func (d *derived) add(id derivedID, key [sha256.Size]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.keys == nil || len(d.keys) >= maxDerived {
		d.keys = make(map[derivedID][sha256.Size]byte)
	}
	d.keys[id] = key
}

// derive returns the signing key of a secret for a day, region and service.
func derive(secret Secret, day, region, service string) (key [sha256.Size]byte) {
	k := mac([]byte("AWS4"+string(secret)), day)
	k = mac(k, region)
	k = mac(k, service)
	copy(key[:], mac(k, terminator))
	return key
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
