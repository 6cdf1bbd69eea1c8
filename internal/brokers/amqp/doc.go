// Package amqp implements a message source for package worker on a queue of RabbitMQ or
// another AMQP 0-9-1 broker, and a sink for an outbox.
//
// RabbitMQ considers a message delivered until it is acknowledged or the connection ends.
// So a [Source] keeps unfinished messages: it holds a message that is released with a delay
// and hands it out again later, and it acknowledges messages that are done or parked. For
// each Config.Prefetch delayed messages, the source opens one more consumer, so that
// delayed messages do not use up the prefetch. It closes the consumer when they are gone.
//
// # Guarantees
//
// Every message is delivered at least once. A parked message is acknowledged only after the
// broker has confirmed its copy in the dead-letter queue. When the connection ends, the
// broker redelivers all unacknowledged messages; the worker stops those that run, and
// blames no message.
//
// # Not guaranteed
//
// Messages have no order. When a connection ends, the broker's delivery count, if it has
// one, grows for all unacknowledged messages.
//
// # Limits
//
// A source holds at most Config.Prefetch messages that may run, and about [maxDelayed]
// delayed messages. At this limit it receives no more messages until a delayed one is due.
package amqp
