package bezoar

import (
	"encoding/hex"
	"fmt"
)

// Fingerprint is a keyed 128-bit hash of canonical work. Two pieces of work
// with the same fingerprint are the same work; without the deployment's secret
// nobody can compute or forge one. The zero Fingerprint means "none".
type Fingerprint [16]byte

// IsZero reports whether f is the zero fingerprint, which identifies nothing.
func (f Fingerprint) IsZero() bool { return f == Fingerprint{} }

// String returns the 32 lower-case hexadecimal digits of f.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Short returns the first 8 hexadecimal digits, enough for people to tell
// fingerprints apart on a screen and never enough to address one.
func (f Fingerprint) Short() string { return hex.EncodeToString(f[:4]) }

// MarshalText encodes f as [Fingerprint.String] does, and zero as "".
func (f Fingerprint) MarshalText() ([]byte, error) {
	if f.IsZero() {
		return []byte{}, nil
	}
	return hex.AppendEncode(nil, f[:]), nil
}

// UnmarshalText decodes what [Fingerprint.MarshalText] wrote.
func (f *Fingerprint) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*f = Fingerprint{}
		return nil
	}
	if len(text) != 2*len(f) {
		return fmt.Errorf("fingerprint %.40q has %d characters, want 32 hexadecimal digits", text, len(text))
	}
	if _, err := hex.Decode(f[:], text); err != nil {
		return fmt.Errorf("fingerprint %.40q: %w", text, err)
	}
	return nil
}

// ParseFingerprint reads the 32 hexadecimal digits that String writes.
func ParseFingerprint(s string) (Fingerprint, error) {
	var f Fingerprint
	if s == "" {
		return f, fmt.Errorf("fingerprint is empty, want 32 hexadecimal digits")
	}
	return f, f.UnmarshalText([]byte(s))
}
