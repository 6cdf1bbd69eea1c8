package calls

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
)

const (
	grpcType   = "application/grpc"
	grpcMethod = "/bench.Echo/Say"
	sharing    = 8 // callers on one connection
	maxMessage = 64 << 10
)

// channels are the connections that callers share.
type channels struct {
	url      string
	distinct int
	all      []*http.Transport
}

func newChannels(cfg Config) *channels {
	c := &channels{url: "http://" + cfg.Addr + grpcMethod, distinct: max(1, cfg.Distinct)}
	for range (cfg.Callers + sharing - 1) / sharing {
		t := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}
		t.Protocols.SetUnencryptedHTTP2(true)
		c.all = append(c.all, t)
	}
	return c
}

func (c *channels) close() {
	for _, t := range c.all {
		t.CloseIdleConnections()
	}
}

func (c *channels) caller(i int) caller {
	return &grpcCaller{channels: c, transport: c.all[i/sharing]}
}

type grpcCaller struct {
	*channels
	transport *http.Transport
}

func (c *grpcCaller) close() {} // others share the connection

// call sends a message and wants it back.
func (c *grpcCaller) call(ctx context.Context, n int) error {
	sent := message(n % c.distinct)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", grpcType)
	req.Header.Set("TE", "trailers")
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	if err != nil {
		return err
	}
	status := resp.Trailer.Get("Grpc-Status")
	if status == "" {
		status = resp.Header.Get("Grpc-Status") // without a message
	}
	switch {
	case resp.StatusCode != http.StatusOK || status != "0":
		return fmt.Errorf("%w: HTTP status %d, status %q", errRefused, resp.StatusCode, status)
	case !bytes.Equal(got, sent):
		return fmt.Errorf("%d bytes came back of %d, or others", len(got), len(sent))
	}
	return nil
}

// message is the n-th: a protobuf message of one string, with its frame.
func message(n int) []byte {
	text := fmt.Sprintf("order %d: three of P-00042, to be left by the blue door", n)
	m := append([]byte{1<<3 | 2, byte(len(text))}, text...) // shorter than 128 bytes
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
}
