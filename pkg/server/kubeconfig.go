package server

import (
	"net"
	"strconv"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// localURL returns the URL for clients on the same machine. It works for every address that the server can listen on.
func localURL(c *Config) string {
	address := c.generic.SecureServing.Listener.Addr().(*net.TCPAddr)
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(address.Port))
}

// AdminConfig returns a client configuration for a user who may do everything.
func (s *Server) AdminConfig() *rest.Config {
	return &rest.Config{
		Host: localURL(s.config),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: servingCA(s.config), CertData: s.admin.Cert, KeyData: s.admin.Key,
		},
	}
}

// UserConfig returns a client configuration for a user with a certificate.
func (s *Server) UserConfig(name string, groups ...string) (*rest.Config, error) {
	pair, err := s.config.security.authority.Client(name, groups...)
	if err != nil {
		return nil, err
	}
	config := s.AdminConfig()
	config.CertData, config.KeyData = pair.Cert, pair.Key
	return config, nil
}

// Kubeconfig returns AdminConfig as a kubeconfig whose only context is "miniapi".
func (s *Server) Kubeconfig() *clientcmdapi.Config {
	const name = "miniapi"
	admin := s.AdminConfig()
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: admin.CertData, ClientKeyData: admin.KeyData}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	return config
}

// servingCA returns the certificates by which clients verify the server: the server's own authority, and the serving
// certificate, because another authority may have issued it.
func servingCA(c *Config) []byte {
	shown, _ := c.generic.SecureServing.Cert.CurrentCertKeyContent()
	return append(append([]byte{}, shown...), c.CA()...)
}
