package admission

import (
	"net/netip"
	"strings"
)

// maxCached bounds every text and buffer that is kept with a connection.
const maxCached = 2 << 10

// ClientCache caches expensive facts about callers for one connection. Each entry depends only on its own key, so it is
// always right.
type ClientCache struct {
	buf  []byte // to hash
	used int    // of sums: the next one to replace
	sums [4]struct {
		text []byte
		sum  [16]byte
	}

	authorization, claim string // and what follows from them:
	value                string

	addr, prefix string // an address, and the part of it that counts
	id           string // the last joined id
}

// readClaim returns the claim of a bearer's token; "" for none.
func (m *ClientCache) readClaim(authorization, claim string) string {
	if m.authorization == authorization && m.claim == claim {
		return m.value
	}
	payload := bearer(authorization)
	if payload == "" {
		return ""
	}
	value := claimOf(payload, claim)
	if len(authorization) <= maxCached {
		m.authorization, m.claim, m.value = strings.Clone(authorization), claim, value
	}
	return value
}

// Network returns the part of an address that identifies a caller: all of an IPv4 address, and the first 64 bits of an IPv6
// address, because the caller can choose the rest.
func (m *ClientCache) Network(addr string) string {
	if strings.IndexByte(addr, ':') < 0 {
		return addr // IPv4, or not an address
	}
	if m.addr == addr {
		return m.prefix
	}
	m.addr, m.prefix = strings.Clone(addr), networkOf(addr)
	return m.prefix
}

func networkOf(addr string) string {
	ip, err := netip.ParseAddr(addr)
	if err != nil {
		return addr
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	p, err := ip.Prefix(64)
	if err != nil {
		return addr
	}
	return p.String()
}
