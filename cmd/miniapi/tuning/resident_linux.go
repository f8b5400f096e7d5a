package tuning

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// mapping is a part of the address space, as a section of /proc/self/smaps describes it.
type mapping struct {
	start, end  uintptr
	permissions string
	file        string
	anonymous   bool // whether some pages differ from the file
}

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

func readMappings(path string) ([]mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var mappings []mapping
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if m, ok := parseMapping(fields); ok {
			mappings = append(mappings, m)
		} else if len(mappings) > 0 && len(fields) > 1 && fields[0] == "Anonymous:" {
			mappings[len(mappings)-1].anonymous = fields[1] != "0"
		}
	}
	return mappings, lines.Err()
}

// parseMapping parses the first line of a mapping's description:
// START-END PERMISSIONS OFFSET DEVICE INODE FILE.
func parseMapping(fields []string) (mapping, bool) {
	if len(fields) < 5 {
		return mapping{}, false
	}
	first, last, ok := strings.Cut(fields[0], "-")
	if !ok {
		return mapping{}, false
	}
	start, err := strconv.ParseUint(first, 16, strconv.IntSize)
	if err != nil {
		return mapping{}, false
	}
	end, err := strconv.ParseUint(last, 16, strconv.IntSize)
	if err != nil {
		return mapping{}, false
	}
	return mapping{start: uintptr(start), end: uintptr(end), permissions: fields[1], file: strings.Join(fields[5:], " ")}, true
}
