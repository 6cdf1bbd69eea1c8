package calls

import (
	"bufio"
	"fmt"
	"io"
	"net/http"

	"github.com/bezoar-dev/bezoar/bench/internal/frame"
)

// Server answers calls on HTTP/1.1 and on HTTP/2 without TLS. The caller gives it
// listeners, and closes it.
func Server() *http.Server {
	s := &http.Server{Handler: http.HandlerFunc(answer), Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

func answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case grpcMethod:
		echoCall(w, r)
	case socketPath:
		echoFrames(w, r)
	default:
		_, _ = io.WriteString(w, "ok") // whoever asks whether it is there
	}
}

// echoCall answers a unary call with its message.
func echoCall(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxMessage))
	if err != nil {
		return
	}
	h := w.Header()
	h.Set("Content-Type", grpcType)
	h.Set("Trailer", "Grpc-Status")
	_, _ = w.Write(text)
	h.Set("Grpc-Status", "0")
}

// echoFrames upgrades, and sends back what comes until it is a goodbye.
func echoFrames(w http.ResponseWriter, r *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		frame.Accept(r.Header.Get("Sec-WebSocket-Key")))
	in := bufio.NewReader(rw.Reader)
	for {
		op, text, err := frame.Read(in)
		if err != nil || frame.Write(conn, op, false, text) != nil || op == frame.Close {
			return
		}
	}
}
