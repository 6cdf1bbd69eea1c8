package h1

import "strings"

// Field is one header or trailer field. Name and Value are as received, without
// the white space around the value.
type Field struct {
	Name  string
	Value string
	Key   Key // of Name
}

// Key identifies the fields that a proxy must understand.
type Key uint8

// Other is every field that is only passed on.
const (
	Other Key = iota
	Connection
	ContentLength
	ContentType
	Date
	Expect
	Forwarded
	GRPCTimeout
	Host
	IdempotencyKey
	KeepAlive
	Lookalike // a name that CGI and similar servers take for another key: X_Forwarded_For
	OfProxies // X-Real-IP, X-Original-URL and others that only a proxy may send
	Proxy
	ProxyAuthenticate
	ProxyAuthorization
	ProxyConnection
	RequestDeadline // X-Request-Deadline
	RequestID
	RequestTimeout // X-Request-Timeout
	TE
	TraceParent
	TraceState
	Trailer
	TransferEncoding
	Upgrade
	XBezoarAttempt
	XForwarded // X-Forwarded-… other than the next three
	XForwardedFor
	XForwardedHost
	XForwardedProto
)

// KeyOf returns the key of a field name in any case.
func KeyOf(name string) Key {
	k := keyOf(name)
	if k == Other {
		k = unusualKey(name, odd(name))
	}
	return k
}

func keyOf(name string) Key {
	switch len(name) {
	case 2:
		return match(name, "te", TE)
	case 4:
		if k := match(name, "host", Host); k != Other {
			return k
		}
		return match(name, "date", Date)
	case 5:
		return match(name, "proxy", Proxy)
	case 6:
		return match(name, "expect", Expect)
	case 7:
		if k := match(name, "trailer", Trailer); k != Other {
			return k
		}
		return match(name, "upgrade", Upgrade)
	case 9:
		return match(name, "forwarded", Forwarded)
	case 10:
		if k := match(name, "connection", Connection); k != Other {
			return k
		}
		if k := match(name, "keep-alive", KeepAlive); k != Other {
			return k
		}
		return match(name, "tracestate", TraceState)
	case 11:
		return match(name, "traceparent", TraceParent)
	case 12:
		if k := match(name, "content-type", ContentType); k != Other {
			return k
		}
		if k := match(name, "grpc-timeout", GRPCTimeout); k != Other {
			return k
		}
		return match(name, "x-request-id", RequestID)
	case 14:
		return match(name, "content-length", ContentLength)
	}
	return longKeyOf(name)
}

func longKeyOf(name string) Key {
	if len(name) > len("x-forwarded-") && Fold(name[:len("x-forwarded-")], "x-forwarded-") {
		switch rest := name[len("x-forwarded-"):]; {
		case Fold(rest, "for"):
			return XForwardedFor
		case Fold(rest, "host"):
			return XForwardedHost
		case Fold(rest, "proto"):
			return XForwardedProto
		}
		return XForwarded
	}
	switch len(name) {
	case 15:
		return match(name, "idempotency-key", IdempotencyKey)
	case 16:
		if k := match(name, "proxy-connection", ProxyConnection); k != Other {
			return k
		}
		return match(name, "x-bezoar-attempt", XBezoarAttempt)
	case 17:
		if k := match(name, "transfer-encoding", TransferEncoding); k != Other {
			return k
		}
		return match(name, "x-request-timeout", RequestTimeout)
	case 18:
		if k := match(name, "proxy-authenticate", ProxyAuthenticate); k != Other {
			return k
		}
		return match(name, "x-request-deadline", RequestDeadline)
	case 19:
		return match(name, "proxy-authorization", ProxyAuthorization)
	}
	return Other
}

func match(name, lower string, k Key) Key {
	if Fold(name, lower) {
		return k
	}
	return Other
}

// HopByHop reports whether fields of this key end at a proxy. TE, Trailer and Upgrade are among them: a proxy that passes
// on their meaning writes them anew.
func (k Key) HopByHop() bool {
	switch k {
	case Connection, KeepAlive, ProxyAuthenticate, ProxyAuthorization, ProxyConnection, TE, Trailer,
		TransferEncoding, Upgrade:
		return true
	default:
		return false
	}
}

// Fold reports whether s is lower, apart from the case of ASCII letters in s.
func Fold(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// HasToken reports whether the comma-separated list has the token, given in
// lower case.
func HasToken(list, lower string) bool {
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, ",")
		if Fold(trim(item), lower) {
			return true
		}
	}
	return false
}

// Named reports whether one of the Connection fields names the field.
func Named(fields []Field, name string) bool {
	for i := range fields {
		if fields[i].Key != Connection {
			continue
		}
		for list := fields[i].Value; list != ""; {
			var item string
			item, list, _ = strings.Cut(list, ",")
			if strings.EqualFold(trim(item), name) {
				return true
			}
		}
	}
	return false
}

func AppendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// trim removes the optional white space that HTTP allows around values.
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}
