// Package local is an engine of the test fixture (package miniapitest). It runs servers in its own process, several
// at a time if needed. Both a test's process and "miniapi host" use it. Don't use it to run a server in another
// program: package server is for that.
package local
