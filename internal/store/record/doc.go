// Package record is what the stores agree on: which verdicts and letters they
// accept, the canonical form in which they keep them, and their form in text.
//
// Canonical means: times in UTC at microseconds, nothing shared with the
// caller. The text is JSON with the field names of the root package, so an
// operator can read the tables. JSON holds only valid Unicode and PostgreSQL
// no NUL, yet what a crashing worker prints and what an attacker sends is
// neither; such strings are kept as "base64:…" and come back byte for byte.
package record
