//go:build !linux

package main

// dropProgramPages does nothing: how to is known of Linux alone.
func dropProgramPages() {}

// residentMemory is what Go has of the machine's memory, in bytes.
func residentMemory() uint64 { return heldByGo() }
