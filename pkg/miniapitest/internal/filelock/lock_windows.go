package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
	"unsafe"
)

const (
	// exclusively and immediately are flags of LockFileEx, and errLockViolation is its error for a locked file. Package
	// syscall lacks them.
	exclusively, immediately = 2, 1
	errLockViolation         = syscall.Errno(33)
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// openFile opens a file, which may be removed while it is open, as on other systems.
func openFile(name string, flag int) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	access, disposition := uint32(syscall.GENERIC_READ), uint32(syscall.OPEN_EXISTING)
	if flag&os.O_RDWR != 0 {
		access |= syscall.GENERIC_WRITE
	}
	if flag&os.O_CREATE != 0 {
		disposition = syscall.OPEN_ALWAYS
	}
	handle, err := syscall.CreateFile(path, access, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE,
		nil, disposition, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(handle), name), nil
}

// lock locks a byte that no file has, so that other processes can read the file.
func lock(file *os.File) error {
	beyond := syscall.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
	ok, _, err := lockFileEx.Call(file.Fd(), exclusively|immediately, 0, 1, 0, uintptr(unsafe.Pointer(&beyond)))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, errLockViolation):
		return ErrLocked
	default:
		return fmt.Errorf("locking %s: %w: %w", file.Name(), errors.ErrUnsupported, err)
	}
}

// IsPrivate reports whether a file is a folder. On Windows, each user has a temporary folder of their own.
func IsPrivate(info fs.FileInfo) bool { return info.IsDir() }
