package h1

import (
	"errors"
	"io"
	"net"
	"time"
)

// wire is a connection that delivers what a test wrote beforehand, at most step
// bytes at a time, and then ends.
type wire struct {
	net.Conn
	data string
	step int
}

func (w *wire) Read(p []byte) (int, error) {
	if w.data == "" {
		return 0, io.EOF
	}
	n := len(w.data)
	if w.step > 0 {
		n = min(n, w.step)
	}
	n = copy(p, w.data[:n])
	w.data = w.data[n:]
	return n, nil
}

func (w *wire) SetReadDeadline(time.Time) error { return nil }

// forever is a watch that never gives up.
type forever struct{}

func (forever) Wait(time.Time, time.Time) (time.Time, error) { return time.Time{}, nil }

// sockOver returns a socket that reads data in steps.
func sockOver(data string, step int) *sock {
	s := new(sock)
	s.open(&wire{data: data, step: step}, new(buffers))
	s.watch = forever{}
	return s
}

// readAll reads a body and what is left on the connection behind it.
func readAll(b *Body) (body string, err error) {
	var all []byte
	for {
		p, err := b.Next()
		all = append(all, p...)
		if errors.Is(err, io.EOF) {
			return string(all), nil
		}
		if err != nil {
			return string(all), err
		}
	}
}
