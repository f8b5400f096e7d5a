package miniapitest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// adminContext is the cluster of a kubeconfig, and the context and user of the admin.
const adminContext = "miniapi"

// KubeconfigFile is a kubeconfig, for kubectl and other programs. Its current context is
// the admin's; each user of WithUser has a context of that name. The file is gone when
// the server has stopped.
func (s *Server) KubeconfigFile() string { return s.folder.kubeconfig() }

// Kubeconfig is a kubeconfig for a configuration of this server, such as that of AddUser.
func (s *Server) Kubeconfig(config *rest.Config) ([]byte, error) {
	if config == nil {
		return nil, errors.New("the configuration of a kubeconfig is nil: Config, AddUser and User give one")
	}
	if failed, ok := config.Transport.(failedTransport); ok {
		return nil, failed.err
	}
	return clientcmd.Write(*kubeconfig(adminContext, map[string]*rest.Config{adminContext: config}))
}

// writeKubeconfig makes the folder of the server's files.
func (s *Server) writeKubeconfig() error {
	folder, err := newFolder(s.origin)
	if err != nil {
		return err
	}
	s.folder = folder
	s.mu.Lock()
	defer s.mu.Unlock()
	contexts, admin := maps.Clone(s.users), adminContext
	for contexts[admin] != nil {
		admin += "-admin" // a user has the name, and so the context
	}
	contexts[admin] = s.config
	if err := clientcmd.WriteToFile(*kubeconfig(admin, contexts), s.KubeconfigFile()); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

func kubeconfig(current string, contexts map[string]*rest.Config) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	for _, name := range slices.Sorted(maps.Keys(contexts)) {
		c := contexts[name]
		config.Clusters[adminContext] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: adminContext, AuthInfo: name, Namespace: "default"}
	}
	config.CurrentContext = current
	return config
}
