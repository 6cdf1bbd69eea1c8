// Package redos finds regular expressions that take super-linear time.
package redos
