package tuning

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// mapping is a part of the address space, as a section of /proc/self/smaps describes it.
type mapping struct {
	start, end  uintptr
	permissions string
	file        string
	anonymous   bool // whether some pages differ from the file
}

// readMappings reads the file smaps or maps of a process. The latter doesn't tell whether a mapping is anonymous.
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
