package kubeconfig

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// name is the name of the only cluster, user and context in a kubeconfig that Target.Write writes.
const name = "miniapi"

// Target is the file of --write-kubeconfig.
type Target struct {
	// Path is the absolute path of the file.
	Path string
	flag string // the value of the flag, for errors
}

// NewTarget returns the file that the value of --write-kubeconfig names, or an error if the file can't be written.
func NewTarget(flag string) (*Target, error) {
	if flag == "" {
		return nil, errors.New("--write-kubeconfig must name a file, for example the default, miniapi.kubeconfig")
	}
	path, err := filepath.Abs(flag)
	t := &Target{Path: path, flag: flag}
	if err == nil {
		err = files.Replaceable(path)
	}
	return t, t.wrap(err)
}

// Write writes the client configuration of the admin as a kubeconfig whose only context is "miniapi". Only the owner can
// read the file, because it holds the admin's key. Write returns an error if the file is the kubeconfig of another server
// that runs.
func (t *Target) Write(ctx context.Context, admin *rest.Config) error {
	if err := t.CheckUnused(ctx, admin.Host); err != nil {
		return err
	}
	content, err := clientcmd.Write(*kubeconfig(admin))
	if err == nil {
		err = files.Replace(t.Path, content, 0o600)
	}
	return t.wrap(err)
}

func (t *Target) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("--write-kubeconfig %s: %w", t.flag, err)
	}
	return nil
}

// CheckUnused returns an error if the file is the kubeconfig of a server that runs at another address than own.
func (t *Target) CheckUnused(ctx context.Context, own string) error {
	if !files.Rereadable(t.Path) {
		return nil
	}
	there, err := clientcmd.LoadFromFile(t.Path)
	if err != nil {
		return nil // the file is no kubeconfig
	}
	current := there.Contexts[there.CurrentContext]
	if current == nil {
		return nil
	}
	cluster := there.Clusters[current.Cluster]
	if cluster == nil || cluster.Server == own || !runs(ctx, cluster) {
		return nil
	}
	return t.wrap(fmt.Errorf("is the kubeconfig of the server at %s, which runs: stop that server, or name another file", cluster.Server))
}

// patience is the time for which runs waits for an answer. Most servers are on this machine.
const patience = time.Second

// runs reports whether a server at the cluster's address has a certificate of the cluster's authority. Another server
// may have the port of a server that has ended.
func runs(ctx context.Context, cluster *clientcmdapi.Cluster) bool {
	address, err := url.Parse(cluster.Server)
	if err != nil {
		return false
	}
	authority, err := certutil.NewPoolFromBytes(cluster.CertificateAuthorityData)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connection, err := (&tls.Dialer{Config: &tls.Config{RootCAs: authority}}).DialContext(ctx, "tcp", address.Host)
	if err != nil {
		return false
	}
	_ = connection.Close() // nothing was sent
	return true
}

func kubeconfig(admin *rest.Config) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: admin.CertData, ClientKeyData: admin.KeyData}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	return config
}
