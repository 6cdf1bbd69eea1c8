// Package sinks opens the sinks of an outbox by their URLs.
//
//	queue:NAME                       a queue of the same Bezoar
//	https://HOST/PATH, http://…      a webhook: CloudEvents, signed
//	kafka://HOST/TOPIC               Kafka
//	sqs:https://HOST/ACCOUNT/NAME    Amazon SQS, or what speaks its protocol
//	amqp://HOST/EXCHANGE, amqps://…  RabbitMQ
//	nats://HOST/SUBJECT              NATS JetStream
//	redis://HOST/STREAM, rediss://…  Redis Streams
//
// docs/sinks.md has the parameters of each.
package sinks
