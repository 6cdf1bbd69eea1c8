// Package sinktest is the suite that every sink of an outbox passes, against a real place.
package sinktest
