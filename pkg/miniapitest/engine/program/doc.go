// Package program finds the program miniapi for the fixture. If there is none, it builds the program, from the same
// version or checkout as the fixture itself.
package program
