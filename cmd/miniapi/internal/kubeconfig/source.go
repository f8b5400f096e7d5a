package kubeconfig

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// Source names the kubeconfig of a running server, for commands that make requests to the server.
type Source struct {
	// File and Context are the values of --kubeconfig and --context, or "".
	File, Context string
}

// AddFlags adds --kubeconfig and --context to the flags of a command.
func (s *Source) AddFlags(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.StringVar(&s.File, "kubeconfig", "", "Kubeconfig `FILE` of the server. By default, the file of $KUBECONFIG, or else miniapi.kubeconfig.")
	flags.StringVar(&s.Context, "context", "", "Context `NAME` in the kubeconfig. By default, its current context.")
	// RegisterFlagCompletionFunc fails only for unknown flags.
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return s.contexts(), cobra.ShellCompDirectiveNoFileComp
	})
}

// contexts returns the names of the contexts in the kubeconfig, or nil if it can't be read.
func (s *Source) contexts() []string {
	config, err := s.load().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
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
	if contexts := s.contexts(); err != nil && s.Context != "" && len(contexts) > 0 && !slices.Contains(contexts, s.Context) {
		return nil, cli.UsageError{Err: fmt.Errorf("--context %s: kubeconfig %s must have a context of this name: it has %q", s.Context, s.Name(), contexts)}
	}
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
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context})
}
