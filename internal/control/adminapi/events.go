package adminapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Events calls yield for every event until ctx ends, the server closes the stream, or yield
// returns false. It returns nil only in the last case.
func (c *Client) Events(ctx context.Context, yield func(Event) bool) error {
	resp, err := c.send(ctx, http.MethodGet, PathEvents, nil, nil, "text/event-stream")
	if err != nil {
		return wrap(err, "follow events")
	}
	defer resp.Body.Close()
	return wrap(readEvents(resp.Body, yield), "follow events")
}

// readEvents decodes a text/event-stream. The data of each event is one JSON document;
// comments, IDs and names are ignored.
func readEvents(r io.Reader, yield func(Event) bool) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4<<10), MaxEventBytes)
	var data []byte
	for sc.Scan() {
		line := sc.Bytes()
		if len(line) > 0 {
			if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				data = append(append(data, bytes.TrimPrefix(rest, []byte(" "))...), '\n')
			}
			if len(data) > MaxEventBytes {
				return fmt.Errorf("an event is longer than %d bytes", MaxEventBytes)
			}
			continue
		}
		if len(data) == 0 {
			continue
		}
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("decode an event of %d bytes: %w", len(data), err)
		}
		data = data[:0]
		if !yield(e) {
			return nil
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}
