package probe

import (
	"net"
	"slices"
	"testing"
)

// The kernel's answer is what /proc says, for IPv4 and IPv6, for sockets that share
// nothing and for none; connections and other ports are left out.
func TestDiagSaysWhatProcSays(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		ln, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		port := uint16(ln.Addr().(*net.TCPAddr).Port)
		got, err := diagListeners(port)
		slices.Sort(got)
		want := procListeners(port)
		slices.Sort(want)
		if err != nil || len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", at, got, err, want)
		}
		conn.Close()
		ln.Close()
		if got, err := diagListeners(port); err != nil || len(got) != 0 {
			t.Errorf("%s, closed: %v, %v", at, got, err)
		}
	}
}

// A damaged answer is an error, and takes nothing out of bounds.
func TestDamagedDiagAnswers(t *testing.T) {
	whole := make([]byte, 16+diagAnswer)
	whole[0], whole[4] = byte(len(whole)), diagByFamily
	for cut := 1; cut < len(whole); cut++ {
		if _, done, err := readDiag(nil, whole[:cut], 0); done || err == nil {
			t.Errorf("%d bytes: done %v, %v", cut, done, err)
		}
	}
	short := append([]byte(nil), whole...)
	short[0] = 20
	if _, _, err := readDiag(nil, short[:20], 0); err == nil {
		t.Error("a short message was taken")
	}
}

func BenchmarkListeners(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	port := uint16(ln.Addr().(*net.TCPAddr).Port)
	b.Run("sock_diag", func(b *testing.B) {
		for b.Loop() {
			if got, err := diagListeners(port); err != nil || len(got) != 1 {
				b.Fatal(got, err)
			}
		}
	})
	b.Run("proc", func(b *testing.B) {
		for b.Loop() {
			if got := procListeners(port); len(got) != 1 {
				b.Fatal(got)
			}
		}
	})
}
