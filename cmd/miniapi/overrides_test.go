package main

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// With --etcd-servers-overrides for config maps, one etcd has the config maps, and another etcd has all other objects.
func TestEtcdServersOverrides(t *testing.T) {
	t.Parallel()
	usual, own := startEtcd(t), startEtcd(t)
	both := startKubeAPIServer(t, "--etcd-servers="+usual, "--etcd-servers-overrides=/configmaps#"+own)
	meta := metav1.ObjectMeta{Name: "a"}
	if _, err := both.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := both.CoreV1().Secrets(metav1.NamespaceDefault).Create(t.Context(), &corev1.Secret{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name               string
		etcd               string
		configMaps, secret bool
		reason             string
	}{
		{"usual", usual, false, true, "what isn't overridden is here"},
		{"own", own, true, false, "config maps alone are here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := startKubeAPIServer(t, "--etcd-servers="+test.etcd).CoreV1()
			_, err := c.ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), meta.Name, metav1.GetOptions{})
			found(t, "config map", err, test.configMaps, test.reason)
			_, err = c.Secrets(metav1.NamespaceDefault).Get(t.Context(), meta.Name, metav1.GetOptions{})
			found(t, "secret", err, test.secret, test.reason)
		})
	}
}

// If the etcd servers of an override don't answer, the error names the override.
func TestEtcdServersOverrideIsNamed(t *testing.T) {
	t.Parallel()
	const override = "/configmaps#http://127.0.0.1:1"
	code, _, stderr := start(t, "kube-apiserver", "--secure-port=0", "--bind-address=127.0.0.1", "--cert-dir="+t.TempDir(),
		"--etcd-servers="+startEtcd(t), "--etcd-servers-overrides="+override).exit(t)
	if want := "Error: --etcd-servers-overrides " + override + ": "; code != cli.ExitFailed || !strings.Contains(stderr, want) {
		t.Errorf("want %d and %q, got %d and %s", cli.ExitFailed, want, code, stderr)
	}
}

// found checks whether a request found its object. err is the error of the request. want says whether the request
// should find the object, and reason says why.
func found(t *testing.T, what string, err error, want bool, reason string) {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if (err == nil) != want {
		t.Errorf("%s: found %t, want %t: %s", what, err == nil, want, reason)
	}
}

// startEtcd starts an etcd, waits until it listens, and returns its address.
func startEtcd(t *testing.T) string {
	t.Helper()
	address := "unix://" + filepath.Join(t.TempDir(), "etcd.sock")
	start(t, "etcd", "--data-dir="+t.TempDir(), "--unsafe-no-fsync", "--listen-peer-urls=http://127.0.0.1:0",
		"--listen-client-urls="+address, "--advertise-client-urls="+address).awaitSocket(t, address)
	return address
}

// startKubeAPIServer starts miniapi as kube-apiserver on the loopback address, waits until the server is healthy, and
// returns a client.
func startKubeAPIServer(t *testing.T, args ...string) kubernetes.Interface {
	t.Helper()
	certificates, address := t.TempDir(), freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	start(t, "kube-apiserver", append([]string{"--bind-address=127.0.0.1", "--secure-port=" + port, "--cert-dir=" + certificates,
		"--authorization-mode=RBAC", "--token-auth-file=" + file(t, "tokens.csv", `secret,admin,1,"system:masters"`)}, args...)...).awaitHealthy(t, "https://"+address+"/healthz")
	return client(t, &rest.Config{Host: address, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certificates, "apiserver.crt")}})
}
