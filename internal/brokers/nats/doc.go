// Package nats implements a message source for package worker on a NATS JetStream stream,
// and a sink for an outbox.
//
// A [Source] uses a durable pull consumer, which it creates if necessary. It requests as
// many messages as can run. While they run, it reports progress to the server, and it
// acknowledges messages that are done or parked. It returns a message that is released with
// a delay to the server.
//
// # Guarantees
//
// Every message is delivered at least once. A parked message is acknowledged only after the
// server has confirmed its copy in the dead-letter stream. If the server hears nothing from
// the source for the consumer's AckWait, it redelivers the messages; the worker then stops
// those that run, and blames no message.
//
// # Not guaranteed
//
// Messages have no order. The server counts every delivery, including those that blame no
// message.
package nats
