// Stub is the backend of the gateway benchmark: it answers every HTTP/1.1
// request at once with two bytes, or as many as it is told, and spends as little
// as it can on that, so that the proxy before it is what is measured. One thread
// serves every connection from epoll. It ends with its standard input.
//
//	stub [-answer BYTES] ADDR...
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// maxAnswer is what fits into a socket's buffer in any case.
const maxAnswer = 64 << 10

// answer is one with so many bytes of body.
func answer(size int) []byte {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", size)
	return append([]byte(head), bytes.Repeat([]byte("ok"), (size+1)/2)[:size]...)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "stub:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("stub", flag.ContinueOnError)
	size := flags.Int("answer", 2, "`bytes` of an answer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	addrs := flags.Args()
	if len(addrs) == 0 || *size < 1 || *size > maxAnswer {
		return fmt.Errorf("usage: stub [-answer BYTES] ADDR..., with 1 to %d bytes", maxAnswer)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	runtime.LockOSThread()
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	s := &server{
		poll: poll, conns: map[int32]*conn{}, listeners: map[int32]bool{}, buf: make([]byte, 256<<10),
		answer: answer(*size),
	}
	for _, addr := range addrs {
		if err := s.listen(addr); err != nil {
			return fmt.Errorf("listen on %s: %w", addr, err)
		}
	}
	return s.serve()
}

// A conn is one connection and how far its reading has come.
type conn struct {
	head []byte // the beginning of a head that has not ended
	body int    // bytes of a body still to come
}

type server struct {
	poll      int
	listeners map[int32]bool
	conns     map[int32]*conn
	buf       []byte
	answer    []byte
}

func (s *server) listen(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	file, err := l.(*net.TCPListener).File() // never closed: it serves until the end
	if err != nil {
		return err
	}
	fd := int32(file.Fd())
	if err := syscall.SetNonblock(int(fd), true); err != nil {
		return err
	}
	s.listeners[fd] = true
	return s.watch(fd)
}

func (s *server) watch(fd int32) error {
	return syscall.EpollCtl(s.poll, syscall.EPOLL_CTL_ADD, int(fd), &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: fd})
}

func (s *server) serve() error {
	events := make([]syscall.EpollEvent, 256)
	for {
		n, err := syscall.EpollWait(s.poll, events, -1)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
		for _, e := range events[:n] {
			if s.listeners[e.Fd] {
				s.accept(e.Fd)
			} else if !s.read(e.Fd, s.conns[e.Fd]) {
				delete(s.conns, e.Fd)
				_ = syscall.Close(int(e.Fd))
			}
		}
	}
}

func (s *server) accept(listener int32) {
	for {
		n, _, err := syscall.Accept4(int(listener), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err != nil {
			return // nobody waits any more
		}
		fd := int32(n)
		_ = syscall.SetsockoptInt(n, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		_ = syscall.SetsockoptInt(n, syscall.SOL_SOCKET, syscall.SO_SNDBUF, 4*maxAnswer)
		if err := s.watch(fd); err != nil {
			_ = syscall.Close(n)
			continue
		}
		s.conns[fd] = new(conn)
	}
}

// read takes what is there and answers what is complete. It reports whether the
// connection lives on.
func (s *server) read(fd int32, c *conn) bool {
	n, err := syscall.Read(int(fd), s.buf)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
		return true
	}
	if err != nil || n <= 0 {
		return false
	}
	done, ok := c.take(s.buf[:n])
	for ; done > 0 && ok; done-- {
		n, err = syscall.Write(int(fd), s.answer) // it always fits into the socket's buffer
		ok = err == nil && n == len(s.answer)
	}
	return ok
}

// take reads data and returns how many requests ended in it. It is false for
// what this server does not understand.
func (c *conn) take(data []byte) (done int, ok bool) {
	for len(data) > 0 {
		if c.body > 0 {
			n := min(c.body, len(data))
			c.body -= n
			data = data[n:]
			if c.body == 0 {
				done++
			}
			continue
		}
		if len(c.head) > 0 {
			data = append(c.head, data...)
			c.head = nil
		}
		end := bytes.Index(data, []byte("\r\n\r\n"))
		if end < 0 {
			c.head = bytes.Clone(data)
			return done, len(data) < 64<<10
		}
		length, ok := bodyLength(data[:end+2])
		if !ok {
			return done, false
		}
		data = data[end+4:]
		if c.body = length; length == 0 {
			done++
		}
	}
	return done, true
}

// bodyLength finds the Content-Length in a head. A chunked body is not
// understood; no proxy makes one of a body whose length it was told.
func bodyLength(head []byte) (int, bool) {
	for line := range bytes.Lines(head) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
			return n, err == nil && n >= 0
		case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return 0, false
		}
	}
	return 0, true
}
