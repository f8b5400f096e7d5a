// Package program finds the program miniapi for the fixture. If there is none, it downloads the released program
// of the fixture's version, or builds the program, from the same version or checkout as the fixture itself.
package program
