// Package process is the engine that runs the fixture's servers in child processes. The program of a child process is
// miniapi. All servers of a test process with the same feature gates and emulated version share one child process. A
// child process ends when its standard input ends, so it ends soon after the test process.
package process
