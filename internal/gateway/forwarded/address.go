package forwarded

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// UnknownCaller is the caller if a trusted proxy names it in an unreadable form. The proxy itself is not used, because it
// has many callers.
const UnknownCaller = "unknown"

// Hops follows the addresses that trusted proxies vouch for, from the last one back to the caller.
type Hops struct {
	Proxies []netip.Prefix
	IP      string // the caller's address, as far as it is known
	Element string // the element of a Forwarded field that names IP; "": none
	Unread  string // what could not be read; "": nothing
}

// Follow reads one list of X-Forwarded-For or Forwarded. It reports whether the caller is found.
func (w *Hops) Follow(list string, forwarded bool) bool {
	for list != "" {
		var item string
		item, list = LastItem(list)
		if item == "" {
			continue
		}
		hop, element := item, ""
		if forwarded {
			element = item
			if hop = Param(item, "for"); hop == "" {
				hop = item
			}
		}
		w.Element = element
		addr, ok := HopAddress(hop)
		if !ok {
			if w.IP = UnknownCaller; isObscured(hop) {
				w.IP = hop
			} else {
				w.Unread = item
			}
			return true
		}
		if w.IP = addr; !Among(w.Proxies, addr) {
			return true
		}
	}
	return false
}

// LastItem cuts the last item from a list. Commas separate items, unless they are in quotes.
func LastItem(list string) (item, rest string) {
	quoted := false
	for i := len(list) - 1; i >= 0; i-- {
		switch list[i] {
		case '"':
			quoted = !quoted
		case ',':
			if !quoted {
				return strings.TrimSpace(list[i+1:]), list[:i]
			}
		}
	}
	return strings.TrimSpace(list), ""
}

// Param returns the value of a parameter of one element of Forwarded.
func Param(element, lower string) string {
	for element != "" {
		end, quoted := 0, false
		for end < len(element) && (quoted || element[end] != ';') {
			quoted = quoted != (element[end] == '"')
			end++
		}
		name, value, ok := strings.Cut(element[:end], "=")
		if ok && h1.Fold(strings.TrimSpace(name), lower) {
			return unquote(strings.TrimSpace(value))
		}
		element = element[min(end+1, len(element)):]
	}
	return ""
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// HopAddress reads the address in a proxy's form: with or without a port, in brackets or quotes, with a zone.
func HopAddress(s string) (string, bool) {
	s = unquote(s)
	if rest, ok := strings.CutPrefix(s, "["); ok {
		host, port, ok := strings.Cut(rest, "]")
		if !ok || port != "" && port[0] != ':' {
			return "", false
		}
		s = host
	} else if host, _, ok := strings.Cut(s, ":"); ok && strings.Count(s, ":") == 1 {
		s = host
	}
	s, _, _ = strings.Cut(s, "%")
	_, err := netip.ParseAddr(s)
	return s, err == nil
}

// isObscured reports whether s is an identifier that RFC 7239 allows a proxy to use in place of a caller's address.
func isObscured(s string) bool {
	if len(s) < 2 || len(s) > 64 || s[0] != '_' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !h1.Unreserved(c) || c == '~' {
			return false
		}
	}
	return true
}

// Among reports whether the address is one of the proxies.
func Among(proxies []netip.Prefix, ip string) bool {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}

// PlainIP returns ip if it is an address that can stand in a field, or else the word of RFC 7239 for an unknown one.
func PlainIP(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Zone() != "" {
		return "unknown"
	}
	return addr.Unmap().String()
}
