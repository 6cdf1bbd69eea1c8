// Package kafka is a topic of Apache Kafka as a source of messages for package
// worker.
//
// Kafka commits one offset for each partition, so a record that cannot be worked on
// holds up its partition or is skipped. A [Source] keeps a window of records for
// each partition instead: records end in any order, and the offset that is
// committed is the one of the oldest record that has not ended. Which ones behind it have is
// written beside the offset, so that they do not run again.
//
//	            committed                         fetched
//	                ▼                                ▼
//	──────┬─────────┬──────┬──────┬──────┬──────┬────┬──────►
//	 done │         │ runs │ done │ runs │ done │    │ offsets
//	──────┴─────────┴──────┴──────┴──────┴──────┴────┴──────►
//
// # Guarantees
//
// Every record is delivered at least once. Its offset is committed only after it
// ended: done, or parked in the dead-letter topic, which all in-sync replicas have
// acknowledged by then.
//
// Records with the same key in a partition run one after another, in the order of
// their offsets. A record that waits for a retry holds back the later ones of its
// key; other keys go on. Records without a key have no order.
//
// When a rebalance takes a partition away, nothing more of it begins, what runs may
// end within a few seconds, and what has ended is committed. The rest is stopped and
// blamed on nobody, before the partition is given to its next owner. When the
// partition was lost, because the brokers did not hear of us for too long, its next
// owner may already have it while we stop.
//
// # Not guaranteed
//
// What ended after the last commit, at most about half a second before a kill -9, runs
// again. Transactions are read when they are committed, but ours are none: what is
// parked may be parked twice when we die between parking and commit. The headers
// of both name the same origin.
//
// # Bounds
//
// [Config.MaxRecords] and [Config.MaxBytes] bound what is held. Each partition has an
// equal share of them, and at most 10,000 records from the oldest one that has not
// ended: beyond that it is not fetched from, and all others are. One record that is
// larger than the share is held all the same.
package kafka
