// Package kafka implements a message source for package worker on an Apache Kafka topic,
// and a sink for an outbox.
//
// Kafka commits one offset per partition, so with plain commits a record that keeps failing
// must block its partition or be skipped. A [Source] keeps a window of records for each
// partition instead. Records may end in any order. The source commits the offset of the
// oldest unfinished record. The commit's metadata lists the later records that have ended,
// so that they do not run again.
//
//	            committed                         fetched
//	                ▼                                ▼
//	──────┬─────────┬──────┬──────┬──────┬──────┬────┬──────►
//	 done │         │ runs │ done │ runs │ done │    │ offsets
//	──────┴─────────┴──────┴──────┴──────┴──────┴────┴──────►
//
// # Guarantees
//
// Every record is delivered at least once. Its offset is committed only after the record
// has ended: it is done, or it is parked in the dead-letter topic and all in-sync replicas
// have acknowledged that.
//
// Records of a partition with the same key run one after another, in the order of their
// offsets. A record that waits for a retry blocks later records of its key; other keys
// continue. Records without a key have no order.
//
// When a rebalance takes a partition away, the source starts no more of its records. It
// gives running records Config.Drain to end, and commits the ended ones. Then the worker
// stops the others, without blaming them, before the partition goes to its next owner. If
// the partition was lost because the brokers got no heartbeat for too long, the next owner
// may start while this worker still stops.
//
// # Not guaranteed
//
// Records that ended after the last commit run again after a kill -9. Commits are at most
// about half a second apart. The source reads only committed transactions, but does not
// write in transactions: a record may be parked twice if the worker dies between parking
// and commit. The headers of both letters name the same original record.
//
// # Limits
//
// [Config.MaxRecords] and [Config.MaxBytes] limit the held records. Each partition gets an
// equal share, and at most 10,000 records from its oldest unfinished one. A partition at
// its limit is not fetched until it has room; other partitions continue. A single record
// larger than the share is still held.
package kafka
