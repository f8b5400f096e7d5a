//go:build !linux

package main

import "runtime/metrics"

// dropProgramPages does nothing: how to is known of Linux alone.
func dropProgramPages() {}

// residentMemory is what Go has of the machine's memory, in bytes.
func residentMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
