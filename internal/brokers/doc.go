// Package brokers has the common parts of all message broker clients: the URLs of queues,
// with TLS and credentials, and errors with advice.
//
//	SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]/NAME[?PARAMETER=VALUE&…]
//
// Errors and [Address.String] never contain secrets. Each subpackage implements
// worker.Source for one kind of broker.
package brokers
