package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

func TestTakeCountsRequestsHoweverTheyAreCut(t *testing.T) {
	const stream = "GET / HTTP/1.1\r\nHost: a\r\n\r\n" +
		"POST /p HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello" +
		"POST /p HTTP/1.1\r\nContent-Length: 0\r\n\r\n" +
		"GET / HTTP/1.1\r\n\r\n"
	for size := 1; size <= len(stream); size++ {
		c, total := new(conn), 0
		for from := 0; from < len(stream); from += size {
			done, ok := c.take([]byte(stream[from:min(from+size, len(stream))]))
			if !ok {
				t.Fatalf("pieces of %d: not understood at %d", size, from)
			}
			total += done
		}
		if total != 4 {
			t.Errorf("pieces of %d: %d requests, want 4", size, total)
		}
	}
}

func TestTakeRefusesChunked(t *testing.T) {
	if _, ok := new(conn).take([]byte("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")); ok {
		t.Error("a chunked body was understood")
	}
}

func TestAnswerHasItsLength(t *testing.T) {
	for _, size := range []int{1, 2, 3, maxAnswer} {
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer(size))), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || len(body) != size || resp.ContentLength != int64(size) {
			t.Errorf("answer(%d): %d bytes of %d, %v", size, len(body), resp.ContentLength, err)
		}
	}
}
