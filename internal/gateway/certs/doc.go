// Package certs holds the certificates of a listener and reloads them when their files
// change. A [Client] does the same for connections to servers.
//
//   - A renewed certificate is served within a second, from the next connection on. Open
//     connections stay as they are.
//   - If a file cannot be read, or the certificate and the key do not belong together
//     (for example in the middle of a renewal), the last good pair stays in use, and the
//     log gives the reason once.
//   - Of several certificates, a caller gets the first one that has the requested name
//     (SNI) and that the caller supports. If none has the name, it gets the first of all.
//
// It has no goroutine: it checks the files when connections come.
package certs
