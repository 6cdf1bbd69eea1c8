// Package stdwire connects the gateway to callers over net/http: with TLS, as HTTP/2, and
// where a program mounts the gateway. An [Exchange] has the methods of an h1.Exchange and
// the same guarantees, as far as net/http allows.
package stdwire
