// Package outgoing has the common parts of all sinks of an outbox: sending many records at
// once while keeping the order of each key, and the representation of events for other
// systems.
//
// Events use CloudEvents 1.0: each has the attributes id, source, type, time and
// specversion. The key becomes subject. The topic and the sequence number become the
// extensions topic and sequence.
package outgoing
