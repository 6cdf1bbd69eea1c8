// Package stdwire connects the gateway to callers over net/http: those who speak HTTP/2,
// and those of a program that mounts the gateway. An [Exchange] has the methods of an
// h1.Exchange and the same guarantees, as far as net/http allows.
package stdwire
