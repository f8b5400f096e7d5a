package tuning

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// dropProgramPages gives back the pages of the program's code and constants. After a start these are 80 MB, and an idle
// server needs few of them. When the program needs a page again, the kernel maps it from its page cache. If a call
// fails, the pages stay resident, which does no harm.
func dropProgramPages() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	mappings, err := readMappings("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range mappings {
		if m.reads(program) {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED)
		}
	}
}

// residentMemory returns the resident memory of the process in bytes. If /proc can't be read, it returns the memory
// held by Go.
func residentMemory() uint64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return heldByGo()
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return heldByGo()
	}
	return resident * uint64(os.Getpagesize())
}

// reads reports whether the mapping is a read-only mapping of the file, and all its pages are unchanged.
func (m mapping) reads(file string) bool {
	return m.file == file && !strings.Contains(m.permissions, "w") && !m.anonymous
}
