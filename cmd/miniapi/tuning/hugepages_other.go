//go:build !linux

package tuning

// adviseHugePages does nothing, because its system calls exist only on Linux.
func adviseHugePages() {}

// withdrawHugePages does nothing.
func withdrawHugePages() {}
