// Package arch holds no code: its tests read the source of the whole module and
// fail when the layers, the purity of the policies, the sizes or the house
// rules are broken. They use the standard library only, so they run wherever
// Go does.
//
// What is allowed is data with a reason beside each entry: layers_test.go says
// who may import whom, exceptions_test.go lists what breaks a rule and why,
// words_test.go lists private words and the standard ones that replaced them. A
// new package fails until it is given a height; a rule is changed by changing
// the data, in view of everybody who reads the diff.
package arch
