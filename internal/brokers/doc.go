// Package brokers has what the clients of all message brokers share: the URL by which
// people name a queue of a broker, with TLS and credentials, and the errors that
// say what to do.
//
//	SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]/NAME[?PARAMETER=VALUE&…]
//
// Secrets are never part of an error or of [Address.String]. The packages below this
// one each implement worker.Source for one kind of broker.
package brokers
