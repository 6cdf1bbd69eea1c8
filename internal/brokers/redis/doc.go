// Package redis is a stream of Redis, or of Valkey, as a source of messages for package
// worker, and as a sink of an outbox.
//
// A consumer group remembers what it has given to whom and is not acknowledged yet. A
// [Source] tells it again and again that it still has its messages. It takes over those
// of which nobody has said so for Config.Lease, as when a worker was killed. What is
// released with a delay stays here until then.
//
// # Guarantees
//
// Every message is delivered at least once, as long as Redis keeps it: Redis writes to
// its disk once a second by default, and tells its replicas later. A message that is
// parked is in the stream of dead letters before it is acknowledged. What somebody else
// took over, because we did not say for too long that we have it, is stopped and blamed
// on nobody.
//
// # Not guaranteed
//
// There is no order. Entries that the stream's MAXLEN removes before they were worked on
// are gone.
package redis
