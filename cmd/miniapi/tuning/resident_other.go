//go:build !linux

package tuning

// dropProgramPages does nothing: the system calls are those of Linux.
func dropProgramPages() {}

// residentMemory returns the memory held by Go, in bytes.
func residentMemory() uint64 { return heldByGo() }
