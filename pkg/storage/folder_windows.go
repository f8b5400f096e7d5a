package storage

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"golang.org/x/sys/windows"
)

// safely is 0, because users of Windows don't share a temporary folder.
const safely = 0

// openLocked opens and locks a file. If the flag is os.O_CREATE, it makes a missing file. etcd's library doesn't report
// that a file is locked on Windows, and locks the file's content, which other processes read. So openLocked locks a byte
// that no file has. The file may be removed while it is open, as on other systems.
func openLocked(name string, flag int) (*fileutil.LockedFile, error) {
	disposition := uint32(windows.OPEN_EXISTING)
	if flag&os.O_CREATE != 0 {
		disposition = windows.OPEN_ALWAYS
	}
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(path, windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, disposition, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	beyond := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
	err = windows.LockFileEx(handle, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &beyond)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = fileutil.ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, windows.CloseHandle(handle))
	}
	return &fileutil.LockedFile{File: os.NewFile(uintptr(handle), name)}, nil
}

// isPrivate reports whether a file is a folder. On Windows, the temporary folder belongs to the user of this process.
func isPrivate(info fs.FileInfo) bool { return info.IsDir() }
