package etcd

import "fmt"

// OfData names the flag by which the data is where etcd fails, if it was given.
func OfData(dataDir string, err error) error {
	if err == nil || dataDir == "" {
		return err
	}
	return fmt.Errorf("--data-dir: %w", err)
}

// OfEncryption names the flag by which what is stored is encrypted, if it was given.
func OfEncryption(file string, err error) error {
	if err == nil || file == "" {
		return err
	}
	return fmt.Errorf("--encryption-provider-config %s: %w", file, err)
}
