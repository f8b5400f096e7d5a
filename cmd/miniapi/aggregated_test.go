package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The roles of "miniapi aggregated manifests" are enough to run behind a cluster, and the server serves only what it is
// asked to serve.
func TestAggregatedManifestsAreEnough(t *testing.T) {
	t.Parallel()
	manifests := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(manifests, []byte(runMiniapi(t, "aggregated", "manifests", "--image=example.com/wardle:1", "--namespace=wardle")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, config := serve(t, "--apply="+manifests)
	token, err := client(t, config).CoreV1().ServiceAccounts("wardle").CreateToken(t.Context(), "server", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	account := clientcmdapi.NewConfig()
	account.Clusters["cluster"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	account.AuthInfos["account"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	account.Contexts["context"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "account"}
	account.CurrentContext = "context"
	if err := clientcmd.WriteToFile(*account, kubeconfig); err != nil {
		t.Fatal(err)
	}
	p := start(t, "miniapi", "serve", "--secure-port=0", "--behind="+kubeconfig, "--runtime-config=coordination.k8s.io/v1=true")
	line, running := <-p.lines
	if !running || !strings.HasPrefix(line, "miniapi is ready on https://127.0.0.1:") || !strings.HasSuffix(line, ", behind the cluster of "+kubeconfig) {
		code, _, stderr := p.exit(t)
		t.Fatalf("got %q, exit code %d, %s", line, code, stderr)
	}
	direct := *config
	direct.Host = strings.TrimSuffix(strings.TrimPrefix(line, "miniapi is ready on "), ", behind the cluster of "+kubeconfig)
	direct.TLSClientConfig.CAData, direct.TLSClientConfig.Insecure = nil, true
	groups, err := client(t, &direct).Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups.Groups) != 1 || groups.Groups[0].Name != "coordination.k8s.io" {
		t.Errorf("want coordination.k8s.io alone, got %v", groups.Groups)
	}
}

// The command refuses what a cluster would refuse.
func TestAggregatedManifestsBadInput(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		args         []string
		want         string
	}{
		{"no image", "a Deployment needs one", nil, "--image: must name the image"},
		{"wrong name", "the name is that of a Service", []string{"--image=a", "--name=My_Server"}, `--name "My_Server": a DNS-1035 label must consist of`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := start(t, "miniapi", append([]string{"aggregated", "manifests"}, test.args...)...).exit(t)
			if code == 0 || !strings.Contains(stderr, test.want) {
				t.Errorf("%s: want %q, got exit code %d, %s", test.reason, test.want, code, stderr)
			}
		})
	}
}
