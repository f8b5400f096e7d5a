package kubeconfig

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Source names the kubeconfig of a running server, for commands that make requests to the server.
type Source struct {
	// File is the value of --kubeconfig, or "".
	File string
}

// AddFlag adds --kubeconfig.
func (s *Source) AddFlag(flags *pflag.FlagSet) {
	flags.StringVar(&s.File, "kubeconfig", "", "Kubeconfig of the server. By default, the file of $KUBECONFIG, or else miniapi.kubeconfig.")
}

// Name returns the value of --kubeconfig, or else the value of $KUBECONFIG, which may be a list of paths, or else
// miniapi.kubeconfig.
func (s *Source) Name() string {
	for _, file := range []string{s.File, os.Getenv(clientcmd.RecommendedConfigPathEnvVar)} {
		if file != "" {
			return file
		}
	}
	return "miniapi.kubeconfig"
}

// ClientConfig reads the kubeconfig that --kubeconfig or KUBECONFIG names, or else miniapi.kubeconfig. It doesn't read
// ~/.kube/config, because that may be the kubeconfig of another cluster.
func (s *Source) ClientConfig() (*rest.Config, error) {
	config, err := s.load().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("kubeconfig %s: has no cluster, or doesn't exist: --kubeconfig or $%s must name the kubeconfig of a server", s.Name(), clientcmd.RecommendedConfigPathEnvVar)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", s.Name(), err)
	}
	return config, nil
}

// Explained extends the error of a request that didn't reach the server, or whose credentials the server refused: the
// new error says what the kubeconfig must have. Explained returns other errors as they are.
func (s *Source) Explained(err error) error {
	var unreached *url.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: kubeconfig %s must have credentials that the server accepts", err, s.Name())
	case errors.As(err, &unreached):
		return fmt.Errorf("%w: kubeconfig %s must have the address and the authority of a server that runs", err, s.Name())
	}
	return err
}

func (s *Source) load() clientcmd.ClientConfig {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(s.Name())}
	if s.File != "" {
		rules = &clientcmd.ClientConfigLoadingRules{ExplicitPath: s.File}
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
}
