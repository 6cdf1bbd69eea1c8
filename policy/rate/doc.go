// Package rate decides whether something still fits into a limit over time.
package rate
