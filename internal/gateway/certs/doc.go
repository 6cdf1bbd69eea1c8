// Package certs holds the certificates of a listener and follows their files; a
// [Client] does so for connections to servers.
//
//   - A renewed certificate is served within a second, to the next connection;
//     connections that are open stay as they are.
//   - A file that cannot be read, or a certificate and a key that do not belong
//     together, as in the middle of a renewal, changes nothing: what was read last
//     is served on, and the log says why, once for each reason.
//   - Of several certificates a caller gets the first that has the name it asks
//     for (SNI) and that it understands; the first of all when none has.
//
// It has no goroutine: the files are looked at when connections come.
package certs
