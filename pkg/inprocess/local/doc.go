// Package local is the engine that runs the fixture's servers in its own process. Any number of servers run at the same
// time. A program that wants a server imports package server instead.
package local
