// Package keys has the keys and certificates of one server: it stores them, and issues certificates to webhooks.
//
// [StoreOf] is the constructor. Don't use the package for the format of the stored files: package pki has that.
package keys

import (
	"crypto"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/miniapi-dev/miniapi/pkg/server/pki"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// authorityName and frontProxyName are the common names in the certificates of the server's own authorities.
const authorityName, frontProxyName = "miniapi", "miniapi-front-proxy"

// keysFolder is the name of the folder for keys in a data folder.
const keysFolder = "pki"

// Store keeps the keys of a server in the folder of --cert-dir, or in a subfolder of --data-dir, so that the next start
// finds them. The zero value stores nothing: the keys are only in memory.
type Store struct {
	*pki.Store
	// flag is the flag that names the folder, with its value. Errors name it.
	flag string
	// dataDir is the value of --data-dir if the keys are in its subfolder, and "" otherwise.
	dataDir string
}

// StoreOf returns the store for the values of --cert-dir and --data-dir.
func StoreOf(certDir, dataDir string) Store {
	if certDir != "" {
		return Store{Store: pki.NewStore(certDir), flag: "--cert-dir " + certDir}
	}
	if dataDir != "" {
		return Store{pki.NewStore(filepath.Join(dataDir, keysFolder)), "--data-dir " + dataDir, dataDir}
	}
	return Store{}
}

func (s Store) failed(err error) error {
	if err == nil || s.Store == nil {
		return err
	}
	return fmt.Errorf("%s: %w", s.flag, err)
}

// Kept returns the stored authority, for a program that issues certificates without a server. If no authority is
// stored, Kept makes the folder and the authority. It returns an error for the zero Store.
func (s Store) Kept() (_ *pki.Authority, err error) {
	if s.Store == nil {
		return nil, errors.New("--cert-dir or --data-dir must name a folder for the certificate authority: both flags are empty")
	}
	defer func() { err = s.failed(err) }()
	if s.dataDir != "" {
		if _, err := os.Stat(s.Path(pki.AuthorityKey)); errors.Is(err, fs.ErrNotExist) {
			folder, err := storage.Open(storage.Options{DataDir: s.dataDir})
			if err != nil {
				return nil, err
			}
			defer func() { _ = folder.Close() }()
		}
	}
	return s.Store.Authority(authorityName)
}

// Authority returns the stored authority, or makes one.
func (s Store) Authority() (*pki.Authority, error) {
	authority, err := s.Store.Authority(authorityName)
	if err != nil {
		return nil, s.failed(fmt.Errorf("certificate authority: %w", err))
	}
	return authority, nil
}

// FrontProxy returns the stored authority of the certificate by which the server calls aggregated APIs, or makes one.
func (s Store) FrontProxy() (*pki.Authority, error) {
	authority, err := s.Store.FrontProxy(frontProxyName)
	if err != nil {
		return nil, s.failed(fmt.Errorf("certificate authority of front proxies: %w", err))
	}
	return authority, nil
}

// SigningKey returns the key that signs service account tokens. It returns nil for the zero Store.
func (s Store) SigningKey() (crypto.Signer, error) {
	key, err := s.ServiceAccountKey()
	if err != nil {
		return nil, s.failed(fmt.Errorf("key of service account tokens: %w", err))
	}
	return key, nil
}

// Serving adds the stored serving certificate to the options of a server. If no certificate is stored, the authority
// issues one. The files in --cert-dir are read again when another server that uses the same folder replaces them.
func (s Store) Serving(authority *pki.Authority, names pki.Names, serving *genericoptions.SecureServingOptions) error {
	pair, err := s.Store.Serving(authority, names)
	if err != nil {
		return s.failed(fmt.Errorf("serving certificate: %w", err))
	}
	if serving.ServerCert.CertDirectory != "" {
		serving.ServerCert.CertKey.CertFile, serving.ServerCert.CertKey.KeyFile = s.Path(pki.ServingCert), s.Path(pki.ServingKey)
		return nil
	}
	serving.ServerCert.GeneratedCert, err = dynamiccertificates.NewStaticCertKeyContent("miniapi's own serving certificate", pair.Cert, pair.Key)
	return err
}
