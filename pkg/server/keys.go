package server

import (
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

// authorityName is the common name of the server's own authority.
const authorityName = "miniapi"

// keysFolder is the folder in a data folder in which keys are kept.
const keysFolder = "pki"

// keyStore is where keys outlive the server, and what to say of it in an error: the folder of --cert-dir or else of
// --data-dir. It is nil without either.
type keyStore struct {
	*pki.Store
	flag string
}

func (s keyStore) failed(err error) error {
	if err == nil || s.Store == nil {
		return err
	}
	return fmt.Errorf("%s: %w", s.flag, err)
}

// servingStore is where the serving certificate is kept.
func (o *Options) servingStore() keyStore {
	if dir := o.Serving.ServerCert.CertDirectory; dir != "" {
		return keyStore{pki.NewStore(dir), "--cert-dir " + dir}
	}
	if o.DataDir != "" {
		dir := filepath.Join(o.DataDir, keysFolder)
		return keyStore{pki.NewStore(dir), "--data-dir " + o.DataDir}
	}
	return keyStore{}
}

// ownStore is where the keys are kept that no kube-apiserver makes for itself.
func (o *Options) ownStore() keyStore {
	if o.TransientKeys {
		return keyStore{}
	}
	return o.servingStore()
}

// KeptAuthority returns the authority that is kept where the options say, for what is to be issued without a server. It
// makes the authority, and the data folder, if there are none yet.
func (o *Options) KeptAuthority() (_ *pki.Authority, err error) {
	store := o.ownStore()
	if store.Store == nil {
		return nil, errors.New("neither --cert-dir nor --data-dir says where an authority is kept")
	}
	defer func() { err = store.failed(err) }()
	if o.Serving.ServerCert.CertDirectory == "" {
		if _, err := os.Stat(store.Path(pki.AuthorityKey)); errors.Is(err, fs.ErrNotExist) {
			folder, err := storage.Open(storage.Options{DataDir: o.DataDir})
			if err != nil {
				return nil, err
			}
			defer func() { _ = folder.Close() }()
		}
	}
	return store.Authority(authorityName)
}

// provideKeys provides the server's own authority, and the key that signs service account tokens, unless a flag names
// one or nothing is kept.
func (c *Config) provideKeys() (err error) {
	store := c.options.ownStore()
	if c.authority, err = store.Authority(authorityName); err != nil {
		return store.failed(fmt.Errorf("certificate authority: %w", err))
	}
	if c.options.Authentication.ServiceAccounts.SigningKeyFile != "" {
		return nil
	}
	if c.signingKey, err = store.ServiceAccountKey(); err != nil {
		return store.failed(fmt.Errorf("key of service account tokens: %w", err))
	}
	return nil
}

// provideServingCertificate gives a server that was not told one a certificate of its own. That in --cert-dir is read
// again when another server that shares the folder replaces it.
func (c *Config) provideServingCertificate(serving *genericoptions.SecureServingOptions) error {
	names, err := c.servingNames(serving)
	if err != nil {
		return err
	}
	store := c.options.servingStore()
	pair, err := store.Serving(c.authority, names)
	if err != nil {
		return store.failed(fmt.Errorf("serving certificate: %w", err))
	}
	if serving.ServerCert.CertDirectory != "" {
		serving.ServerCert.CertKey.CertFile, serving.ServerCert.CertKey.KeyFile = store.Path(pki.ServingCert), store.Path(pki.ServingKey)
		return nil
	}
	serving.ServerCert.GeneratedCert, err = dynamiccertificates.NewStaticCertKeyContent("miniapi's own serving certificate", pair.Cert, pair.Key)
	return err
}
