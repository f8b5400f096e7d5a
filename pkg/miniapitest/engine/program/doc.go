// Package program finds the miniapi program for the fixture, and builds it where there is none: a program of the very
// source that the fixture is compiled from.
package program
