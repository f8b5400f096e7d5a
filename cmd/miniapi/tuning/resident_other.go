//go:build !linux

package tuning

// dropProgramPages does nothing, because its system calls exist only on Linux.
func dropProgramPages() {}

// residentMemory returns the number of bytes that the Go runtime holds.
func residentMemory() uint64 { return heldByGo() }
