package podfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// hostPathTypes are the types of hostPath volumes: the type of the file, its name, and what creates it.
var hostPathTypes = map[corev1.HostPathType]struct {
	mode   fs.FileMode
	name   string
	create func(path string) error
}{
	corev1.HostPathDirectory:         {fs.ModeDir, "directory", nil},
	corev1.HostPathDirectoryOrCreate: {fs.ModeDir, "directory", func(path string) error { return os.MkdirAll(path, 0o755) }},
	corev1.HostPathFile:              {0, "file", nil},
	corev1.HostPathFileOrCreate:      {0, "file", createFile},
	corev1.HostPathSocket:            {fs.ModeSocket, "socket file", nil},
	corev1.HostPathCharDev:           {fs.ModeDevice | fs.ModeCharDevice, "character device", nil},
	corev1.HostPathBlockDev:          {fs.ModeDevice, "block device", nil},
}

// modeNames are the kubelet's names of the types of files.
var modeNames = map[fs.FileMode]string{
	fs.ModeDir: "Directory", 0: "File", fs.ModeSocket: "Socket", fs.ModeDevice | fs.ModeCharDevice: "CharDevice", fs.ModeDevice: "BlockDevice",
}

func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE, 0o644) //nolint:gosec // the kubelet's mode
	if err != nil {
		return err
	}
	return file.Close()
}

// checkHostPath checks the type of a hostPath volume, or creates what it stands for.
func checkHostPath(source *corev1.HostPathVolumeSource) error {
	want, ok := hostPathTypes[ptr.Deref(source.Type, corev1.HostPathUnset)]
	if !ok { // any type
		return nil
	}
	info, err := os.Stat(source.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && want.create != nil:
		return want.create(source.Path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: path %q does not exist", source.Path, want.name, source.Path)
	case err != nil:
		return fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: %w", source.Path, want.name, err)
	case info.Mode().Type() != want.mode:
		return fmt.Errorf("hostPath type check failed: %s is not a %s, it's a %s", source.Path, want.name, modeNames[info.Mode().Type()])
	}
	return nil
}
