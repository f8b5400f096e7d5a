package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Path returns the absolute path for the file of --write-kubeconfig. It returns an error if the folder of the file
// doesn't exist, or if the path is a folder.
func Path(file string) (string, error) {
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
		return "", fmt.Errorf("--write-kubeconfig %s: folder %s doesn't exist: make the folder, or name a file in another folder", file, filepath.Dir(path))
	case err != nil:
		return "", fmt.Errorf("--write-kubeconfig %s: %w", file, err)
	case !folder.IsDir():
		return "", fmt.Errorf("--write-kubeconfig %s: %s is not a folder: name a file in a folder", file, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", fmt.Errorf("--write-kubeconfig %s: is a folder: name a file, for example %s", file, filepath.Join(file, "miniapi.kubeconfig"))
	}
	return path, nil
}

// Write writes the client configuration of the admin as a kubeconfig whose only context is "miniapi". Only the owner can
// read the file, because it holds the admin's key. Write changes the mode of an existing file first, and replaces the
// file if its mode can't be changed.
func Write(admin *rest.Config, file string) error {
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		err := os.Chmod(file, 0o600)
		if errors.Is(err, fs.ErrPermission) {
			err = os.Remove(file)
		}
		if err != nil {
			return err
		}
	}
	return clientcmd.WriteToFile(*kubeconfig(admin), file)
}

func kubeconfig(admin *rest.Config) *clientcmdapi.Config {
	const name = "miniapi"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: admin.CertData, ClientKeyData: admin.KeyData}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	return config
}
