package etcd

import "fmt"

// ofData adds "--data-dir" to an error of etcd if the flag was set.
func ofData(dataDir string, err error) error {
	if err == nil || dataDir == "" {
		return err
	}
	return fmt.Errorf("--data-dir: %w", err)
}

// OfEncryption adds "--encryption-provider-config" to an error if the flag was set.
func OfEncryption(file string, err error) error {
	if err == nil || file == "" {
		return err
	}
	return fmt.Errorf("--encryption-provider-config %s: %w", file, err)
}
