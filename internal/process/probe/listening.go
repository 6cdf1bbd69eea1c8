package probe

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// maxListening is the most addresses returned: they are for messages.
const maxListening = 8

// ListeningOn returns the addresses with a listener on the port, in this process's network namespace.
func ListeningOn(port uint16) []netip.AddrPort {
	return listening(func(l listener) bool { return l.addr.Port() == port })
}

// ListeningBy returns the addresses at which the sockets with these inodes listen.
func ListeningBy(sockets []uint64) []netip.AddrPort {
	return listening(func(l listener) bool { return slices.Contains(sockets, l.inode) })
}

// UnixListeningBy returns the paths at which the Unix sockets with these inodes listen.
func UnixListeningBy(sockets []uint64) (paths []string) {
	eachUnixListener(func(inode uint64, path string) {
		if len(paths) < maxListening && slices.Contains(sockets, inode) {
			paths = append(paths, path)
		}
	})
	return paths
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

// listener is a listening socket.
type listener struct {
	addr  netip.AddrPort
	inode uint64
}

// parseAddr parses an address in the kernel's format: words of four bytes in the machine's byte order.
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

// Places formats addresses for a message.
func Places(found []netip.AddrPort) string {
	names := make([]string, len(found))
	for i, a := range found {
		names[i] = a.String()
	}
	return strings.Join(names, ", ")
}
