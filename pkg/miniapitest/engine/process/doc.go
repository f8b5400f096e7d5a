// Package process is the engine that runs the fixture's servers in miniapi processes: one for all servers of the test
// process with the same feature gates and emulated version. A miniapi process ends with its test process, however that
// ends, because its standard input ends.
package process
