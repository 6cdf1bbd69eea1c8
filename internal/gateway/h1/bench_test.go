package h1

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

var (
	benchRequest = crlf("GET /search?q=stone HTTP/1.1\nHost: shop.example\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9\nAccept-Language: en-US,en;q=0.5\nAccept-Encoding: gzip, deflate\n" +
		"Cookie: a=0123456789; b=0123456789\nConnection: keep-alive\n\n")
	benchAnswer = crlf("HTTP/1.1 200 OK\nServer: worker\nDate: Sat, 28 Nov 2026 00:02:19 GMT\nContent-Type: text/html; charset=utf-8\n" +
		"Content-Length: 512\nCache-Control: no-cache\nVary: Accept-Encoding\nConnection: keep-alive\n\n")
)

func BenchmarkRequest(b *testing.B) {
	b.Run("own", func(b *testing.B) {
		var r Request
		b.ReportAllocs()
		b.SetBytes(int64(len(benchRequest)))
		raw := []byte(benchRequest)
		for b.Loop() {
			n, _, err := scan(raw, 0)
			if err != nil {
				b.Fatal(err)
			}
			if err := r.Parse(string(raw[:n]), Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("nethttp", func(b *testing.B) {
		src := strings.NewReader(benchRequest)
		br := bufio.NewReader(src)
		b.ReportAllocs()
		b.SetBytes(int64(len(benchRequest)))
		for b.Loop() {
			src.Reset(benchRequest)
			br.Reset(src)
			if _, err := http.ReadRequest(br); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkResponse(b *testing.B) {
	var r Response
	raw := []byte(benchAnswer)
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		n, _, err := scan(raw, 0)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Parse(string(raw[:n]), "GET", Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChunks(b *testing.B) {
	data := strings.Repeat(crlf("400\n")+strings.Repeat("x", 1024)+"\r\n", 64) + "0\r\n\r\n"
	s := sockOver("", 0)
	w := s.nc.(*wire)
	var body Body
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		w.data = data
		body.reset(s, -1, Limits{}.orDefaults())
		for {
			if _, err := body.Next(); err != nil {
				break
			}
		}
		if !body.Done() {
			b.Fatal("not read to its end")
		}
	}
}
