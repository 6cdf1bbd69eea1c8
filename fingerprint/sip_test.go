package fingerprint

import (
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"
)

// The vectors are those of the function's authors for the key 00…0f and the
// messages 00, 00 01 and so on; OpenSSL's SIPHASH with size 16 agrees.
func TestSip128(t *testing.T) {
	var seed [32]byte
	var msg []byte
	for i := range 16 {
		seed[i] = byte(i)
		msg = append(msg, byte(i))
	}
	for n, want := range map[int]string{
		0:  "a3817f04ba25a8e66df67214c7550293",
		1:  "da87c1d86b99af44347659119b22fc45",
		2:  "8177228da4a45dc7fca38bdef60affe4",
		15: "5493e99933b0a8117e08ec0f97cfc3d9",
	} {
		got := sip128(newSIPKey(seed), msg[:n])
		if hex.EncodeToString(got[:]) != want {
			t.Errorf("%d bytes: got %s, want %s", n, got, want)
		}
	}
}

func TestSip128TellsLengthsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "b")
		var seed [32]byte
		k := newSIPKey(seed)
		if sip128(k, b) == sip128(k, append(b, 0)) {
			t.Fatalf("%x and the same with a zero byte collide", b)
		}
	})
}
