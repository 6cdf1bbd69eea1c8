// Package nats is a stream of NATS JetStream as a source of messages for package worker,
// and as a sink of an outbox.
//
// A [Source] works on a durable pull consumer, which it makes if there is none. It asks
// for as many messages as can run, tells the server that it still has them while they run,
// and acknowledges what is done or parked. What is released with a delay is the server's
// again until then.
//
// # Guarantees
//
// Every message is delivered at least once. One that is parked is in the stream of dead
// letters, and the server has confirmed that, before it is acknowledged. When the server
// did not hear of us for the consumer's AckWait, what runs is stopped and blamed on
// nobody, because the server gives it to others.
//
// # Not guaranteed
//
// There is no order. The server counts every delivery, also those that blame nobody.
package nats
