package probe

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// listeners returns the sorted inodes of the sockets that listen at a worker's loopback address or path. It returns nil if
// they cannot be found: no such socket, another machine or network namespace, or no /proc. It returns all sockets that
// share a port (SO_REUSEPORT).
func listeners(worker string) []uint64 {
	network, addr := place(worker)
	if network == "unix" {
		return unixListeners(addr)
	}
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || !isLoopback(host) {
		return nil
	}
	inodes, err := diagListeners(uint16(port))
	if err != nil {
		inodes = procListeners(uint16(port)) // an old kernel, or a sandbox
	}
	slices.Sort(inodes)
	return inodes
}

// procListeners reads the inodes of the sockets that listen on a port from /proc.
func procListeners(port uint16) (inodes []uint64) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		found, err := readListeners(f, port)
		_ = f.Close()
		if err == nil {
			inodes = append(inodes, found...)
		}
	}
	return inodes
}

// unixListeners returns the inodes of the sockets that listen at a path. A socket whose file was removed counts while it is
// open.
func unixListeners(path string) []uint64 {
	var inodes []uint64
	eachUnixListener(func(inode uint64, at string) {
		if at == path {
			inodes = append(inodes, inode)
		}
	})
	slices.Sort(inodes)
	return inodes
}

// eachUnixListener reads the listening sockets of /proc/net/unix. The path of an abstract one begins with @.
func eachUnixListener(tell func(inode uint64, path string)) {
	const flagsField, inodeField, pathField, accepts = 3, 6, 7, "00010000"
	f, err := os.Open("/proc/net/unix")
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; n < maxTable && lines.Scan(); n++ {
		line := lines.Text()
		fields := strings.Fields(line)
		if len(fields) <= pathField || fields[flagsField] != accepts {
			continue
		}
		_, path, _ := strings.Cut(line, " "+fields[inodeField]+" ") // a path may contain spaces
		if ino, err := strconv.ParseUint(fields[inodeField], 10, 64); err == nil && ino != 0 {
			tell(ino, path)
		}
	}
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// maxTable is the most lines read of one table.
const maxTable = 65536

// readListeners returns the inodes of the sockets of a table that listen on port.
func readListeners(r io.Reader, port uint16) ([]uint64, error) {
	var inodes []uint64
	err := eachListener(r, func(l listener) {
		if l.addr.Port() == port {
			inodes = append(inodes, l.inode)
		}
	})
	return inodes, err
}

// eachListener reads a table in the format of /proc/net/tcp. The kernel lists listening sockets first, so it stops at the
// first other one. This keeps it fast on machines with many thousand connections.
func eachListener(r io.Reader, tell func(listener)) error {
	const stateField, inodeField, listening = 3, 9, "0A"
	// Read about one line at a time: the kernel fills the buffer, and walks all established connections if the listeners do
	// not fill it.
	br := bufio.NewReaderSize(r, 160)
	if _, err := br.ReadString('\n'); err != nil { // the heading
		return err
	}
	for range maxTable {
		line, err := br.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		f := strings.Fields(line)
		if len(f) <= inodeField || f[stateField] != listening {
			break
		}
		hexAddr, hexPort, _ := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(hexPort, 16, 16)
		if err != nil {
			continue
		}
		if ino, err := strconv.ParseUint(f[inodeField], 10, 64); err == nil && ino != 0 {
			addr, _ := parseAddr(hexAddr)
			tell(listener{netip.AddrPortFrom(addr, uint16(port)), ino})
		}
	}
	return nil
}

// replaced reports whether two checks of one port found sockets with none in common: another process listens there now.
func replaced(before, now []uint64) bool {
	if len(before) == 0 || len(now) == 0 {
		return false
	}
	return !slices.ContainsFunc(now, func(ino uint64) bool { return slices.Contains(before, ino) })
}
