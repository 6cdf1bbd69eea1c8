package fingerprint

import (
	"encoding/binary"
	"math/bits"

	"github.com/bezoar-dev/bezoar"
)

// sipKey keys SipHash-2-4. Shapes use it because a skeleton is short, and a second SHA-256 would cost more than the rest of
// the shape. It is a keyed pseudo-random function too, so shapes cannot be forged without the secret.
type sipKey struct{ k0, k1 uint64 }

func newSIPKey(seed [32]byte) sipKey {
	return sipKey{binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:])}
}

// sip64 computes SipHash-2-4.
func sip64(k sipKey, b []byte) uint64 {
	v0 := k.k0 ^ 0x736f6d6570736575
	v1 := k.k1 ^ 0x646f72616e646f6d
	v2 := k.k0 ^ 0x6c7967656e657261
	v3 := k.k1 ^ 0x7465646279746573
	v0, v1, v2, v3 = sipAbsorb(v0, v1, v2, v3, b)
	v2 ^= 0xff
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0 ^ v1 ^ v2 ^ v3
}

// sip128 computes SipHash-2-4 with 128 bits of output.
func sip128(k sipKey, b []byte) (out bezoar.Fingerprint) {
	v0 := k.k0 ^ 0x736f6d6570736575
	v1 := k.k1 ^ 0x646f72616e646f6d ^ 0xee
	v2 := k.k0 ^ 0x6c7967656e657261
	v3 := k.k1 ^ 0x7465646279746573
	v0, v1, v2, v3 = sipAbsorb(v0, v1, v2, v3, b)
	v2 ^= 0xee
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	binary.LittleEndian.PutUint64(out[:], v0^v1^v2^v3)
	v1 ^= 0xdd
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	binary.LittleEndian.PutUint64(out[8:], v0^v1^v2^v3)
	return out
}

// sipAbsorb processes the message.
func sipAbsorb(v0, v1, v2, v3 uint64, b []byte) (uint64, uint64, uint64, uint64) {
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		m := binary.LittleEndian.Uint64(b)
		v3 ^= m
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	v3 ^= last
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0 ^= last
	return v0, v1, v2, v3
}

func sipRound(v0, v1, v2, v3 uint64) (uint64, uint64, uint64, uint64) {
	v0 += v1
	v2 += v3
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v1
	v0 += v3
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 = bits.RotateLeft64(v2, 32)
	return v0, v1, v2, v3
}
