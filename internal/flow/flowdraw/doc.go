// Package flowdraw draws flows: as a tree of text, as a Mermaid chart and as SVG. The
// same flow always gives the same drawing.
//
// SVG and [Place] lay the tasks out in layers from left to right. The layer of a task is
// the longest path to it. A few sweeps order each layer so that few lines cross. Flows
// with more than [MaxDrawn] tasks are not drawn.
package flowdraw
