// Package regular reads files whose names come from users. Pipes, devices and file systems
// that do not answer cannot block it for long, and long files take no memory.
package regular
