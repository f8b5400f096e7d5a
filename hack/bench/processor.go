//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// processes are the processes of a server.
type processes []int

// processorTime returns the processor time that the processes have used so far.
func (p processes) processorTime() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range p {
		own, err := processorTime(pid)
		if err != nil {
			return 0, err
		}
		sum += own
	}
	return sum, nil
}

// descendants returns the child processes of a process, their children and so on. It works on Linux only.
func descendants(pid int) (processes, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	var all processes
	for _, file := range files {
		children, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				return nil, err
			}
			below, err := descendants(pid)
			if err != nil {
				return nil, err
			}
			all = append(append(all, pid), below...)
		}
	}
	return all, nil
}

// processorTime returns the processor time that the threads of a process have used so far. It works on Linux only. The
// kernel counts it in nanoseconds for a thread, and in steps of 10 ms for a process. Go's threads don't end.
func processorTime(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	if len(threads) == 0 {
		return 0, fmt.Errorf("/proc/%d/task/*/schedstat: the process has ended, or the kernel lacks CONFIG_SCHED_INFO", pid)
	}
	var sum time.Duration
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		used, _, _ := strings.Cut(string(stat), " ")
		n, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}
