// Package browsertest drives a headless Chromium over its DevTools protocol, for
// tests that have to see what a person sees: it opens pages, evaluates
// expressions, presses keys, clicks, and takes pictures. It knows the few
// commands that the console's tests need and nothing else.
//
// The browser is the one of the system. Where there is none, [Start] skips the
// test in one visible line, and so it does under the race detector: what serves the
// pages has tests of its own.
package browsertest
