package admission

import (
	"net/netip"
	"strings"
)

// maxCached bounds every text and buffer that is kept with a connection.
const maxCached = 2 << 10

// ClientCache holds what is expensive to compute about callers and likely to be
// asked again, for one connection. Each entry is a function of its own key, so that
// it cannot be wrong about a caller.
type ClientCache struct {
	buf   []byte // for what is hashed
	token []byte // for what is decoded
	used  int    // of sums: what is next to be forgotten
	sums  [4]struct {
		text []byte
		sum  [16]byte
	}

	authorization, claim string // and what they say:
	value                string

	addr, prefix string // an address, and what of it counts
	id           string // the last joined id
}

// readClaim returns the claim of a bearer's token, "" when there is none.
func (m *ClientCache) readClaim(authorization, claim string) string {
	if m.authorization == authorization && m.claim == claim {
		return m.value
	}
	payload := bearer(authorization)
	if payload == "" {
		return ""
	}
	v, scratch := claimOf(m.token, payload, claim)
	value := string(v)
	if m.token = scratch; cap(scratch) > maxCached {
		m.token = nil
	}
	if len(authorization) <= maxCached {
		m.authorization, m.claim, m.value = strings.Clone(authorization), claim, value
	}
	return value
}

// Network returns the part of an address that tells callers apart: all of IPv4's,
// and of IPv6's the first 64 bits, because the rest is the caller's to choose.
func (m *ClientCache) Network(addr string) string {
	if strings.IndexByte(addr, ':') < 0 {
		return addr // IPv4, or none
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
