// Package console serves the console: one page of its own HTML, CSS and ES
// modules, embedded, without a library and without a build step.
//
// The page shows the fleet as a moving picture, what is quarantined, the dead
// letters and what happens, all from the admin API; it knows nothing that the
// API does not say. Whatever came with a request is attacker-written: it reaches
// the page as JSON and the document as text nodes, never as markup, and the
// content security policy that admin sets allows no inline script or style.
//
// With [Config.Demo] the same page has the demonstration's controls as well.
package console
