package doctor

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func pidfd() error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// fileSystem returns the kinds of file systems that a store must not or should not be on.
func fileSystem(path string) string {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return ""
	}
	switch int64(st.Type) { //nolint:unconvert // not 64 bits wide everywhere
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.SMB_SUPER_MAGIC:
		return "smb"
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	}
	return ""
}

// listener finds the process that listens on a TCP port.
func listener(port int) (pid int, name string) {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listening(table, port, sockets)
	}
	if len(sockets) == 0 {
		return 0, ""
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, ""
	}
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !sockets[to] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		text, _ := os.ReadFile(filepath.Join(dir, "comm")) // it may have gone
		return pid, strings.TrimSpace(string(text))
	}
	return 0, ""
}

// listening adds the sockets that listen on a port, from one of the kernel's tables. The keys have the form of links in
// /proc.
func listening(table string, port int, sockets map[string]bool) {
	f, err := os.Open(table)
	if err != nil {
		return
	}
	defer f.Close()
	const (
		local, state, inode = 1, 3, 9 // columns
		listens             = "0A"
	)
	end := fmt.Sprintf(":%04X", port)
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) > inode && strings.HasSuffix(fields[local], end) && fields[state] == listens {
			sockets["socket:["+fields[inode]+"]"] = true
		}
	}
}
