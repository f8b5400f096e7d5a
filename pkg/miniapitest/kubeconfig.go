package miniapitest

import (
	"errors"
	"fmt"
	"maps"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// adminContext is the name of the cluster in a kubeconfig. The current context and its user also have this name, unless
// a user of WithUser has it.
const adminContext = "miniapi"

// KubeconfigFile returns the path of a kubeconfig for kubectl and other programs. Its current context is the context
// of the admin. Each user of WithUser also has a context with the user's name. Stop removes the file.
func (s *Server) KubeconfigFile() string { return s.folder.kubeconfig() }

// Kubeconfig returns the content of a kubeconfig for a client configuration of this server, such as the result of
// AddUser.
func (s *Server) Kubeconfig(config *rest.Config) ([]byte, error) {
	if config == nil {
		return nil, errors.New("Kubeconfig: the client configuration must not be nil: give the result of Config, AddUser or User")
	}
	if failed, ok := config.Transport.(failedTransport); ok {
		return nil, failed.err
	}
	return clientcmd.Write(*kubeconfig(adminContext, map[string]*rest.Config{adminContext: config}))
}

// writeKubeconfig makes the folder of the server's files, and writes the kubeconfig into it.
func (s *Server) writeKubeconfig(path string) error {
	folder, err := newFolder(path, s.origin)
	if err != nil {
		return err
	}
	s.folder = folder
	s.mu.Lock()
	defer s.mu.Unlock()
	contexts, admin := maps.Clone(s.users), adminContext
	for contexts[admin] != nil {
		admin += "-admin" // a user of WithUser has the same name
	}
	contexts[admin] = s.config
	if err := clientcmd.WriteToFile(*kubeconfig(admin, contexts), s.KubeconfigFile()); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

func kubeconfig(current string, contexts map[string]*rest.Config) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	for name, c := range contexts {
		config.Clusters[adminContext] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: adminContext, AuthInfo: name, Namespace: "default"}
	}
	config.CurrentContext = current
	return config
}
