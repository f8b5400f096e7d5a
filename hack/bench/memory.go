//go:build unix

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memory is a measure of a process's memory: a file of the process in /proc, and the line with the measure. It works on
// Linux only.
type memory struct{ file, line string }

var (
	// resident is the memory of a process that is in RAM.
	resident = memory{"status", "VmRSS:"}
	// proportional is the resident memory in which a page that N processes share counts as 1/N of a page.
	proportional = memory{"smaps_rollup", "Pss:"}
)

// memoryOf returns the memory of a process, in bytes.
func memoryOf(pid int, measure memory) (float64, error) {
	file := fmt.Sprintf("/proc/%d/%s", pid, measure.file)
	content, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if size, ok := strings.CutPrefix(line, measure.line); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(size), " kB"), 64)
			return kilobytes * 1024, err
		}
	}
	return 0, fmt.Errorf("%s: must have the line %s", file, measure.line)
}

// memoryOfDescendants returns the memory of all child processes of a process, and of their children and so on.
func memoryOfDescendants(pid int, measure memory) (float64, error) {
	all, err := descendants(pid)
	if err != nil {
		return 0, err
	}
	var sum float64
	for _, pid := range all {
		own, err := memoryOf(pid, measure)
		if err != nil {
			return 0, err
		}
		sum += own
	}
	return sum, nil
}
