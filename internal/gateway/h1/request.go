package h1

import (
	"net/netip"
	"strings"
)

// Request is the head of a request. Its strings share one copy of the head and stay valid; the Fields slice is reused.
type Request struct {
	Method string
	Target string // in origin form: path and query as received, or "*"
	Path   string // of Target, as received
	Query  string // of Target, as received
	Host   string // from an absolute target, else from the Host field
	Minor  int    // HTTP/1.Minor
	Fields []Field
	Length int64 // of the body; -1: chunked

	Close    bool   // the connection ends after the answer
	Expect   bool   // Expect: 100-continue
	Upgrade  string // the protocol, if Connection asks for an upgrade
	Trailers bool   // TE: trailers
}

// Parse reads a head that ends in an empty line. The error is an [*Error].
func (r *Request) Parse(head string, limits Limits) error {
	limits = limits.orDefaults()
	fields := r.Fields[:0]
	*r = Request{}
	r.Fields = fields
	i := strings.IndexByte(head, '\n')
	if i < 1 || head[i-1] != '\r' {
		return bad("a line ends in a bare LF")
	}
	if err := r.parseLine(head[:i-1], limits); err != nil {
		return err
	}
	fields, err := parseFields(fields, head[i+1:], limits.Fields)
	r.Fields = fields
	if err != nil {
		return err
	}
	return r.understand()
}

func (r *Request) parseLine(line string, limits Limits) error {
	sp := strings.IndexByte(line, ' ')
	last := strings.LastIndexByte(line, ' ')
	if sp <= 0 || sp == last {
		return bad("the request line is not method, target and version")
	}
	r.Method, r.Target = line[:sp], line[sp+1:last]
	if !Token(r.Method) {
		return bad("the method is not a token")
	}
	minor, err := parseVersion(line[last+1:])
	if err != nil {
		return err
	}
	r.Minor = minor
	if len(r.Target) > limits.Target {
		return &Error{414, "the target is too long"}
	}
	return r.parseTarget()
}

// parseTarget converts the target to origin form and splits it.
func (r *Request) parseTarget() error {
	for i := range len(r.Target) {
		if c := r.Target[i]; c <= ' ' || c == 0x7f || c == '#' {
			return bad("the target has a byte that is not allowed")
		}
	}
	switch {
	case r.Target == "":
		return bad("the target is empty")
	case r.Method == "CONNECT":
		return &Error{405, "CONNECT is not served"}
	case r.Target == "*":
		if r.Method != "OPTIONS" {
			return bad("the target * is for OPTIONS only")
		}
	case r.Target[0] != '/':
		if err := r.parseAbsolute(); err != nil {
			return err
		}
	}
	r.Path, r.Query, _ = strings.Cut(r.Target, "?")
	return checkEscapes(r.Path)
}

func checkEscapes(path string) error {
	for i := strings.IndexByte(path, '%'); i >= 0; {
		if i+2 >= len(path) || HexValue(path[i+1]) < 0 || HexValue(path[i+2]) < 0 {
			return bad("the path has a % that begins no escape")
		}
		next := strings.IndexByte(path[i+3:], '%')
		if next < 0 {
			return nil
		}
		i += 3 + next
	}
	return nil
}

func (r *Request) parseAbsolute() error {
	scheme, rest, ok := strings.Cut(r.Target, "://")
	if !ok || !Fold(scheme, "http") && !Fold(scheme, "https") {
		return bad("the target is neither a path nor an http URL")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	r.Host = rest[:end]
	if r.Host == "" || !isHost(r.Host) {
		return bad("the target's host is malformed")
	}
	switch rest = rest[end:]; {
	case rest == "" && r.Method == "OPTIONS":
		r.Target = "*"
	case rest == "":
		r.Target = "/"
	case rest[0] == '?':
		r.Target = "/" + rest
	default:
		r.Target = rest
	}
	return nil
}

// Make sets r to a request that did not come over this package's wire, and checks it in the same way. length is -1 if it is
// unknown.
func (r *Request) Make(method, target, host string, fields []Field, length int64) error {
	*r = Request{Method: method, Target: target, Minor: 1, Fields: fields, Length: max(length, -1)}
	limits := Limits{}.orDefaults()
	switch {
	case !Token(method):
		return bad("the method is not a token")
	case len(target) > limits.Target:
		return &Error{414, "the target is too long"}
	case len(fields) > limits.Fields:
		return tooMany(limits.Fields)
	}
	if err := r.parseTarget(); err != nil {
		return err
	}
	if r.Host == "" {
		r.Host = host
	}
	if !isHost(r.Host) {
		return bad("Host is malformed")
	}
	var asked asks
	for i := range r.Fields {
		f := &r.Fields[i]
		if !Token(f.Name) || !isValue(f.Value) {
			return bad("a field has a byte that is not allowed")
		}
		if err := r.note(f, &asked); err != nil {
			return err
		}
	}
	r.mayUpgrade(asked.upgrade)
	return nil
}

// understand interprets the fields.
func (r *Request) understand() error {
	body := framing{length: -1}
	hosts := 0
	var asked asks
	for i := range r.Fields {
		f := &r.Fields[i]
		switch f.Key {
		case Other:
		case ContentLength, TransferEncoding:
			if err := body.add(*f); err != nil {
				return err
			}
		case Host:
			hosts++
			if !isHost(f.Value) {
				return bad("Host is malformed")
			}
			if r.Host == "" {
				r.Host = f.Value
			}
		default:
			if err := r.note(f, &asked); err != nil {
				return err
			}
		}
	}
	if hosts > 1 || hosts == 0 && r.Minor == 1 {
		return bad("Host is missing or repeated")
	}
	r.Close = r.Close || r.Minor == 0 && !asked.keep
	if err := r.frame(body); err != nil {
		return err
	}
	r.mayUpgrade(asked.upgrade)
	return nil
}

// asks is what the Connection fields ask for.
type asks struct{ keep, upgrade bool }

func (r *Request) note(f *Field, asked *asks) error {
	switch f.Key {
	case Connection:
		r.Close = r.Close || HasToken(f.Value, "close")
		asked.keep = asked.keep || HasToken(f.Value, "keep-alive")
		asked.upgrade = asked.upgrade || HasToken(f.Value, "upgrade")
	case Expect:
		if !Fold(f.Value, "100-continue") {
			return &Error{417, "Expect is not 100-continue"}
		}
		r.Expect = r.Minor == 1
	case TE:
		r.Trailers = r.Trailers || HasToken(f.Value, "trailers")
	case Upgrade:
		if r.Upgrade != "" {
			return bad("Upgrade is repeated")
		}
		r.Upgrade = f.Value
	default:
	}
	return nil
}

func (r *Request) frame(body framing) error {
	switch {
	case body.coding && body.length >= 0:
		return bad("Content-Length beside Transfer-Encoding")
	case body.coding && r.Minor == 0:
		return bad("Transfer-Encoding in HTTP/1.0")
	case body.repeats:
		return bad("Content-Length is repeated")
	case body.coding:
		r.Length = -1
	case body.length > 0:
		r.Length = body.length
	}
	return nil
}

// mayUpgrade drops an Upgrade that must not be passed on. Cleartext HTTP/2 would carry requests past the gateway.
func (r *Request) mayUpgrade(asked bool) {
	if !asked || r.Minor == 0 || strings.ContainsAny(r.Upgrade, ", \t") || Fold(r.Upgrade, "h2c") {
		r.Upgrade = ""
	}
}

// Get returns the first value of the field, or "".
func (r *Request) Get(name string) string {
	for i := range r.Fields {
		if strings.EqualFold(r.Fields[i].Name, name) {
			return r.Fields[i].Value
		}
	}
	return ""
}

// isHost reports whether s may be a host with or without a port: a name, an IPv4
// address or an IPv6 address in brackets.
func isHost(s string) bool {
	host := s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		for _, c := range []byte(s[i+1:]) {
			if !isDigit(c) {
				return false
			}
		}
		host = s[:i]
	}
	if strings.HasPrefix(host, "[") {
		if !strings.HasSuffix(host, "]") {
			return false
		}
		addr, err := netip.ParseAddr(host[1 : len(host)-1])
		return err == nil && addr.Is6() && addr.Zone() == ""
	}
	for i := range len(host) {
		switch c := host[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', isDigit(c):
		case c == '-', c == '.', c == '_', c == '~':
		default:
			return false
		}
	}
	return true
}
