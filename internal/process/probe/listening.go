package probe

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// maxListening bounds the addresses that are told: they are for people.
const maxListening = 8

// ListeningOn returns the addresses at which somebody listens on the port, in our
// network namespace.
func ListeningOn(port uint16) []netip.AddrPort {
	return listening(func(l listener) bool { return l.addr.Port() == port })
}

// ListeningBy returns the addresses at which one of the sockets, by inode, listens.
func ListeningBy(sockets []uint64) []netip.AddrPort {
	return listening(func(l listener) bool { return slices.Contains(sockets, l.inode) })
}

func listening(match func(listener) bool) (out []netip.AddrPort) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		_ = eachListener(f, func(l listener) {
			if len(out) < maxListening && match(l) && !slices.Contains(out, l.addr) {
				out = append(out, l.addr)
			}
		})
		_ = f.Close()
	}
	return out
}

// listener is one socket that listens.
type listener struct {
	addr  netip.AddrPort
	inode uint64
}

// parseAddr reads an address as the kernel writes it: words of four bytes, each in
// the order of the machine.
func parseAddr(text string) (netip.Addr, bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 4 && len(b) != 16 {
		return netip.Addr{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, ok := netip.AddrFromSlice(b)
	return a.Unmap(), ok
}

// Places names addresses for people.
func Places(found []netip.AddrPort) string {
	names := make([]string, len(found))
	for i, a := range found {
		names[i] = a.String()
	}
	return strings.Join(names, ", ")
}
