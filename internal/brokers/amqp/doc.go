// Package amqp is a queue of RabbitMQ, or of another broker of AMQP 0-9-1, as a source of
// messages for package worker.
//
// RabbitMQ knows a message as delivered until it is acknowledged, or the connection
// ends. So a [Source] holds what it was given: what is released with a delay stays here
// until then and is handed out again, and what is done or parked is acknowledged. For
// each Config.Prefetch messages that wait so, one more consumer is opened, so that
// they take nobody's place, and closed when they have gone.
//
// # Guarantees
//
// Every message is delivered at least once. One that is parked is in the dead-letter
// queue, confirmed by the broker and not only accepted, before it is acknowledged. When
// the connection ends, the broker gives all that we held to others: what runs is stopped
// and blamed on nobody.
//
// # Not guaranteed
//
// There is no order. The broker's count of deliveries, where it has one, goes up for all
// that we held when a connection ends.
//
// # Bounds
//
// At most Config.Prefetch messages are held that could run, and about [maxDelayed] that
// wait for their time. Beyond that nothing more comes until one of these is due.
package amqp
