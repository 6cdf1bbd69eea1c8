package fingerprint_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/bezoar-dev/bezoar/fingerprint"
)

// Whatever differs in the identity differs although the rest came before.
func TestRememberedRequestsDoNotMix(t *testing.T) {
	cfg := fingerprint.Config{Headers: []string{"X-Tenant"}, Ignore: []string{"json:$.nonce"}}
	p, plain := printer(t, cfg), fingerprint.Forgetful(printer(t, cfg))
	pad := strings.Repeat("x", 300)
	all := []fingerprint.Input{{Method: "POST", Path: "/a", RawQuery: "q=1", ContentType: jsonType, Body: []byte(`{"b":1,"a":"` + pad + `"}`)}}
	vary := func(change func(in *fingerprint.Input)) {
		in := all[0]
		change(&in)
		all = append(all, in)
	}
	vary(func(in *fingerprint.Input) { in.Method = "PUT" })
	vary(func(in *fingerprint.Input) { in.Path = "/b" })
	vary(func(in *fingerprint.Input) { in.Path, in.RawQuery = "/aq", "=1" })
	vary(func(in *fingerprint.Input) { in.RawQuery = "q=2" })
	vary(func(in *fingerprint.Input) { in.ContentType = formType })
	vary(func(in *fingerprint.Input) { in.Body = []byte(`{"a":"` + pad + `","b":1}`) })
	vary(func(in *fingerprint.Input) { in.Body = []byte(`{"b":2,"a":"` + pad + `"}`) })
	vary(func(in *fingerprint.Input) { in.Header = http.Header{"Content-Encoding": {"gzip"}} })
	vary(func(in *fingerprint.Input) { in.Header = http.Header{"X-Tenant": {"a"}} })
	vary(func(in *fingerprint.Input) { in.Header = http.Header{"X-Tenant": {"a", "b"}} })
	vary(func(in *fingerprint.Input) { in.Header = http.Header{"X-Tenant": {"ab"}} })
	for range 3 {
		for i := range all {
			in := all[i]
			in.Complete, in.Length = true, int64(len(in.Body))
			work, shape := p.Work(&in)
			if w, s := plain.Work(&in); work != w || shape != s {
				t.Errorf("input %d: %v and %v, want %v and %v", i, work, shape, w, s)
			}
		}
	}
	for i := range all { // the same heads without a body
		in := all[i]
		in.Complete, in.Length, in.Body = true, 0, nil
		for range 2 {
			work, shape := p.Work(&in)
			if w, s := plain.Work(&in); work != w || shape != s {
				t.Errorf("head %d: %v and %v, want %v and %v", i, work, shape, w, s)
			}
		}
	}
	short := all[0]
	short.Complete, short.Length = false, 1<<20
	if w, _ := p.Work(&short); w == mustWork(plain, &all[0]) {
		t.Error("the first bytes of a longer body count as the whole")
	}
}

func mustWork(p *fingerprint.Printer, in *fingerprint.Input) any {
	whole := *in
	whole.Complete = true
	w, _ := p.Work(&whole)
	return w
}

func TestRememberingIsSafeForConcurrentUse(t *testing.T) {
	p, plain := printer(t, fingerprint.Config{}), fingerprint.Forgetful(printer(t, fingerprint.Config{}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 2000 {
				in := post(jsonType, fmt.Sprintf(`{"n":%d,"pad":"%s"}`, i%50, strings.Repeat("y", 300)))
				work, shape := p.Work(in)
				if w, s := plain.Work(in); work != w || shape != s {
					t.Errorf("body %d: %v and %v, want %v and %v", i%50, work, shape, w, s)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkRepeat is a body that came before, and bodies that never come again.
func BenchmarkRepeat(b *testing.B) {
	get := &fingerprint.Input{Method: "GET", Path: "/search/items", RawQuery: "page=2&q=lovelace", Complete: true}
	b.Run("get-again", func(b *testing.B) {
		p := printer(b, fingerprint.Config{})
		for b.Loop() {
			p.Work(get)
		}
	})
	b.Run("get-never", func(b *testing.B) {
		p := printer(b, fingerprint.Config{})
		query := []byte("page=2&q=lovelace&n=00000000")
		for i := 0; b.Loop(); i++ {
			binary.LittleEndian.PutUint32(query[len(query)-8:], uint32(i)&0x0f0f0f0f|0x30303030)
			binary.LittleEndian.PutUint32(query[len(query)-4:], uint32(i>>4)&0x0f0f0f0f|0x30303030)
			in := *get
			in.RawQuery = unsafe.String(&query[0], len(query))
			p.Work(&in)
		}
	})
	for _, n := range []int{1 << 10, 4 << 10, 64 << 10} {
		body := order(n)
		in := post(jsonType, string(body))
		b.Run(fmt.Sprintf("json-%dk-again", n>>10), func(b *testing.B) {
			p := printer(b, fingerprint.Config{})
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				p.Work(in)
			}
		})
		b.Run(fmt.Sprintf("json-%dk-never", n>>10), func(b *testing.B) {
			p := printer(b, fingerprint.Config{})
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for i := 0; b.Loop(); i++ {
				copy(in.Body[len(in.Body)-12:], fmt.Appendf(nil, "%08x", i))
				p.Work(in)
			}
		})
	}
}
