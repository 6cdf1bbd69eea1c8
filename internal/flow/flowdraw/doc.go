// Package flowdraw draws flows: as a tree of text, as a Mermaid chart and as SVG. A
// drawing depends only on what is drawn.
//
// SVG and [Place] lay the tasks out in layers from left to right. The layer of a task
// is the longest path to it, and the order within a layer keeps lines from crossing
// as far as a few sweeps can. Drawings are for people: beyond [MaxDrawn] tasks there
// is none.
package flowdraw
