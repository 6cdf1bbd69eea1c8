// Package redis implements a message source for package worker on a stream of Redis or
// Valkey, and a sink for an outbox.
//
// A consumer group remembers which consumer holds which unacknowledged message. A [Source]
// renews its claim on its messages regularly. It takes over messages whose holder has been
// silent for Config.Lease, for example because it was killed. The source keeps a message
// that is released with a delay until the delay ends.
//
// # Guarantees
//
// Every message is delivered at least once, as long as Redis keeps it: by default, Redis
// writes to disk once a second and updates replicas asynchronously. A parked message is
// acknowledged only after it is in the dead-letter stream. If another consumer takes over a
// message because this one was silent for too long, the worker stops it without blame.
//
// # Not guaranteed
//
// Messages have no order. Entries that the stream's MAXLEN removes before they were
// processed are lost.
package redis
