// Package bodies makes JSON as HTTP APIs get it: nested objects, numbers, times, ids, and text with escapes and other
// languages, written as clients in Python, JavaScript and Go write it. No two bodies are equal.
package bodies
