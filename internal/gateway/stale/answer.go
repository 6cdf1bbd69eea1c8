package stale

import "fmt"

// Answer is an answer of an upstream. The result of [Cache.Get] is shared and must not be changed.
type Answer struct {
	Status int
	Header []Field // without fields of one connection, Age and Content-Length
	Body   []byte  // complete; of an answer to GET

	// Credentials says that the request had credentials: Authorization, Cookie, or another identification of users. It is
	// not kept.
	Credentials bool
}

// Field is one header field. Names are compared without case.
type Field struct{ Name, Value string }

// Reason says why an answer is not kept.
type Reason uint8

// The reasons.
const (
	Kept        Reason = iota // it is kept
	Status                    // not one of 200, 203, 301, 308, 404, 410
	NoStore                   // Cache-Control: no-store
	Private                   // Cache-Control: private
	Revalidate                // Cache-Control: no-cache, or must-revalidate without a lifetime
	Unreadable                // Cache-Control or Vary cannot be read, or is too long
	SetCookie                 // it sets a cookie
	Credentials               // the request had some, and the answer is not marked public
	Vary                      // it varies on something that is not in the key
	Partial                   // a range, or a body that is not as long as was said
	TooLarge                  // larger than MaxEntry
	Busy                      // too much is being recorded at the same time
	Older                     // there is a copy that is younger, or young enough
	reasons
)

// String returns the reason's stable name.
func (r Reason) String() string {
	names := [reasons]string{
		"kept", "status", "no_store", "private", "revalidate", "unreadable", "set_cookie",
		"credentials", "vary", "partial", "too_large", "busy", "older",
	}
	if r < reasons {
		return names[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}
