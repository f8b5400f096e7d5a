package tuning

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a huge page. On machines where it is larger, the kernel refuses smaller parts.
const hugePage = 2 << 20

// adviseHugePages lets the kernel use huge pages for the heap, and makes huge pages of the pages in use. Most systems use them
// only on such advice, which Go doesn't give. If a call fails, the pages stay as they are, which does no harm.
func adviseHugePages() {
	const setting = "/sys/kernel/mm/transparent_hugepage/enabled"
	if enabled, err := os.ReadFile(setting); err != nil || strings.Contains(string(enabled), "[never]") {
		return
	}
	heap := heapMapping()
	advise(heap.start, heap.end, syscall.MADV_HUGEPAGE)
	// A call for all pages would end at the first part that can't be a huge page.
	for part := (heap.start + hugePage - 1) &^ (hugePage - 1); part+hugePage <= heap.end; part += hugePage {
		advise(part, part+hugePage, unix.MADV_COLLAPSE)
	}
}

// withdrawHugePages undoes the advice.
func withdrawHugePages() {
	heap := heapMapping()
	advise(heap.start, heap.end, syscall.MADV_NOHUGEPAGE)
}

func advise(start, end uintptr, advice uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, end-start, advice)
}

// heapMapping returns the memory of Go's heap. Go takes it from the system in pieces, each next to the one before.
func heapMapping() mapping {
	mappings, err := readMappings("/proc/self/maps")
	if err != nil || len(mappings) == 0 {
		return mapping{}
	}
	return around(mappings, uintptr(unsafe.Pointer(&mappings[0]))) // an object on the heap, as any other
}

// around returns the mapping that has an address, joined with the mappings beside it that have the same permissions.
func around(mappings []mapping, address uintptr) mapping {
	at := slices.IndexFunc(mappings, func(m mapping) bool { return m.start <= address && address < m.end })
	if at < 0 {
		return mapping{}
	}
	joined := mappings[at]
	for _, m := range slices.Backward(mappings[:at]) {
		if m.end != joined.start || m.permissions != joined.permissions || m.file != joined.file {
			break
		}
		joined.start = m.start
	}
	for _, m := range mappings[at+1:] {
		if m.start != joined.end || m.permissions != joined.permissions || m.file != joined.file {
			break
		}
		joined.end = m.end
	}
	return joined
}
