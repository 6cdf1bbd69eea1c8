// Package stdwire is the gateway's wire to callers over net/http: those who speak HTTP/2,
// and those of a program that mounts the gateway. An [Exchange] has the methods of an
// h1.Exchange, and keeps its promises as far as net/http lets it.
package stdwire
