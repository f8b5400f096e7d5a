package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigPath returns the absolute path of a kubeconfig. Its error is for what would be in the way of a file there.
func kubeconfigPath(file string) (string, error) {
	if file == "" {
		return "", errors.New("--write-kubeconfig must name a file, for example the default, miniapi.kubeconfig")
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("--write-kubeconfig %s: %w", file, err)
	}
	folder, err := os.Stat(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("--write-kubeconfig %s: there is no folder %s: make it, or name a file in another", file, filepath.Dir(path))
	case err != nil:
		return "", fmt.Errorf("--write-kubeconfig %s: %w", file, err)
	case !folder.IsDir():
		return "", fmt.Errorf("--write-kubeconfig %s: %s is not a folder", file, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", fmt.Errorf("--write-kubeconfig %s: it is a folder: name a file, for example %s", file, filepath.Join(file, "miniapi.kubeconfig"))
	}
	return path, nil
}

// writeKubeconfig writes for the owner alone. A file that is there would keep its mode, and others might
// read the admin's key in it; one that is somebody else's, or where modes are fixed, gives way to a new one.
func writeKubeconfig(config *clientcmdapi.Config, file string) error {
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err := os.Chmod(file, 0o600)
		if errors.Is(err, fs.ErrPermission) {
			err = os.Remove(file)
		}
		if err != nil {
			return err
		}
	}
	return clientcmd.WriteToFile(*config, file)
}
