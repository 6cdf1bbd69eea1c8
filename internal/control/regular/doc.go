// Package regular reads files that somebody else names. A pipe, a device or a file
// system that does not answer holds nobody up, and a file that is too long takes no
// memory.
package regular
