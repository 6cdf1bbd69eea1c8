package fingerprint

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar"
)

// Fields are all fields of a request in the order of arrival. They must not change while a
// Printer reads them. Several goroutines may read at once.
type Fields interface {
	NumField() int
	// Field returns the field i, from 0 to NumField-1, as received, without the
	// white space around the value. One without a name is skipped.
	Field(i int) (name, value string)
}

// Variant returns the identity of what the caller sent: method, path and query as
// received, the fields in their order, and the body. The package comment says what is left
// out. A client that is not zero is part of the variant: use it if the meaning depends on
// the caller, as for an upgraded connection.
func (p *Printer) Variant(in *Input, client bezoar.Fingerprint) bezoar.Fingerprint {
	s := p.pool.Get().(*scratch)
	s.variant(p, in, client)
	sum := sha256.Sum256(s.buf)
	p.put(s)
	return bezoar.Fingerprint(sum[:16])
}

// variant fills buf. Every part has its length, except the body, which is last.
func (s *scratch) variant(p *Printer, in *Input, client bezoar.Fingerprint) {
	s.buf = append(append(s.buf[:0], p.key[:]...), tagVariant...)
	for _, part := range [...]string{in.Method, in.Path, in.RawQuery, in.ContentType} {
		s.framed(part)
	}
	s.variantFields(p, in.Fields)
	if client.IsZero() {
		s.buf = append(s.buf, 0)
	} else {
		s.buf = append(append(s.buf, 1), client[:]...)
	}
	b := in.Body
	if in.Complete && len(b) <= p.rules.maxBody {
		s.buf = append(append(s.buf, 'B'), b...)
		return
	}
	s.buf = binary.BigEndian.AppendUint64(append(s.buf, head), uint64(in.Length))
	s.buf = append(s.buf, b[:min(len(b), p.rules.maxBody)]...)
}

// framed appends a part after its length.
func (s *scratch) framed(part string) {
	at := s.open()
	s.buf = append(s.buf, part...)
	s.shut(at)
}

func (s *scratch) variantFields(p *Printer, f Fields) {
	if f != nil {
		s.connection(p, f)
		for i := range f.NumField() {
			name, value := f.Field(i)
			at := len(s.buf)
			s.buf = append(s.buf, 'F')
			from := s.open()
			if s.role(p, name, value) != sent {
				s.buf = s.buf[:at]
				continue
			}
			s.shut(from)
			if len(name) == len("host") && strings.EqualFold(name, "host") {
				value = withoutPort(value)
			}
			s.framed(value)
		}
	}
	s.buf = append(s.buf, 'E')
}

// withoutPort returns a host without its port. The port depends on Bezoar's address and not on the request.
func withoutPort(host string) string {
	end := strings.TrimRight(host, "0123456789")
	if n := len(host) - len(end); n > 0 && n <= len("65535") && strings.HasSuffix(end, ":") && (strings.Count(end, ":") == 1 || strings.HasSuffix(end, "]:")) {
		return end[:len(end)-1]
	}
	return host
}

// role says how a field counts.
type role uint8

const (
	ends     role = iota // it does not reach the worker as it is
	volatile             // it differs in every request
	sent                 // it is part of what was sent
)

// role appends the name of a field in lower case and returns its role.
func (s *scratch) role(p *Printer, name, value string) role {
	at := len(s.buf)
	for i := range len(name) {
		s.buf = append(s.buf, lower(name[i]))
	}
	lowered := s.buf[at:]
	switch {
	case endsHere(lowered) || len(s.named) > 0 && slices.Contains(s.named, sip64(p.featureKey, lowered)):
		return ends
	case p.rules.isVolatile(lowered) && ordinary(value):
		return volatile
	}
	return sent
}

// endsHere reports whether a field ends at Bezoar: it is about the connection or the framing of the body, or Bezoar writes
// it anew. TE and Upgrade stay, because Bezoar passes on their meaning.
func endsHere(name []byte) bool {
	switch string(name) {
	case "", "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
		"trailer", "transfer-encoding", "content-length", "expect", "http2-settings",
		"x-bezoar-attempt", "x-request-timeout", "grpc-timeout":
		return true
	}
	return false
}

// maxNamed bounds the fields that a Connection field may name. Further fields count, which does no harm.
const maxNamed = 64

// connection keeps the hashes of the fields that Connection names.
func (s *scratch) connection(p *Printer, f Fields) {
	s.named = s.named[:0]
	at := len(s.buf)
	for i := range f.NumField() {
		name, list := f.Field(i)
		if len(name) != len("connection") || !strings.EqualFold(name, "connection") {
			continue
		}
		for list != "" && len(s.named) < maxNamed {
			var item string
			item, list, _ = strings.Cut(list, ",")
			item = strings.Trim(item, " \t")
			for i := range len(item) {
				s.buf = append(s.buf, lower(item[i]))
			}
			switch string(s.buf[at:]) {
			case "", "close", "keep-alive", "host", "te", "upgrade":
			default:
				s.named = append(s.named, sip64(p.featureKey, s.buf[at:]))
			}
			s.buf = s.buf[:at]
		}
	}
}
