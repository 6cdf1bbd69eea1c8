// Package sqs serves queues over HTTP as Amazon SQS does: all 23 operations, in the AWS
// JSON 1.0 protocol and in the older Query protocol that answers XML, at / and at
// /ACCOUNT/QUEUE. SDKs of any age need only an endpoint URL.
//
// # One implementation
//
// Each protocol has a decoder that fills the same request. A table names the method of
// each operation. One encoder writes either form. So an operation is one entry of that
// table and one method.
//
//	guard ─► read ─► verify ─► decode (JSON or form) ─► operation ─► encode ─► write
//	                                                        │                    │
//	                                                  queue.Engine ◄── undo ─────┘
//
// # Guarantees
//
// Errors carry the codes of both protocols, so that SDKs of both generations recognise
// them. If the answer to a receive could not be written because the caller was gone, its
// messages are visible again at once and the receive does not count. When the server
// stops, waiting receives answer at once, without messages; other calls are finished.
//
// # Not as on AWS
//
//   - Message moves at the end of its last lease, not at the next receive.
//   - A queue may be made anew directly after its deletion: QueueDeletedRecently is never
//     answered.
//   - OverLimit counts the messages that one process has in flight, not those of all
//     processes that share a store.
//   - Copies of a payload that no worker has finished yet wait for copies that another
//     receive has taken (see package queue), so a receive may return fewer messages than
//     there are.
//   - Names are unique for all regions and accounts: those in a URL or an ARN are
//     ignored, and answers carry the caller's region.
//   - Policies and encryption settings are kept and shown, and have no effect.
//   - Only one process knows receives by their ReceiveRequestAttemptId, and recent
//     purges.
//   - A deleted message's receipt is known to be old even if the message has been
//     received again since: deleting with it does nothing, and succeeds.
//
// # Beyond AWS
//
// Attributes of queues that begin with Bezoar set what SQS has no attribute for
// ([queue.Settings]). The message attribute BezoarPriority, a Number from 0 to 9, is a
// message's priority. BezoarOutcome beside ChangeMessageVisibility, in an entry of its
// batch, or in the header X-Bezoar-Outcome, reports how a delivery ended; with "reject"
// the message becomes a dead letter at once. The same header beside SendMessage makes the
// sent body a dead letter: a part of another message. The header X-Bezoar-Worker beside
// ReceiveMessage names the worker, and promises that it reports its own death. The system
// attribute BezoarAlone, when asked for by name, tells that a message is suspect and was
// delivered alone.
//
// # Bounds
//
// A request has at most 32 KiB of headers and [MaxRequest] bytes. At most 64 requests of
// more than 64 KiB are read at a time, and each has 20 s to arrive. A call has 30 s
// beyond the time that it waits for messages. At most Config.MaxConnections are open;
// when another one comes, the one that has been silent for the longest is closed.
package sqs
