// Package record holds the rules that all stores share: which verdicts and letters they
// accept, their canonical form, and their encoding as text.
//
// In canonical form, times are in UTC with microseconds, and no memory is shared with the
// caller. The text is JSON with the field names of the root package, so that operators can
// read the tables. JSON allows only valid Unicode, and PostgreSQL no NUL, but the output of
// a crashing worker and the input of an attacker may contain both. Such strings are stored
// as "base64:…" and are restored byte for byte.
package record
