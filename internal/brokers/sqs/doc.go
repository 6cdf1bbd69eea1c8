// Package sqs is a client for queues with the SQS protocol, and a sink for an outbox.
//
// In a FIFO queue, the event's key is the message group and its ID is the deduplication ID;
// SQS deduplicates within five minutes. A call never contains two events of one key,
// because SQS may refuse the first and accept the second.
package sqs
