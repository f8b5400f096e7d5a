package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestSecretWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name:   "TLS without a certificate",
			Reason: "the server stores a TLS secret without a certificate, though no client can use the secret",
			Object: &corev1.Secret{Type: corev1.SecretTypeTLS},
			Want:   []string{"tls: failed to find any PEM data in certificate input"},
		},
	})
}

func TestSecretErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "TLS without a key", Reason: "the type kubernetes.io/tls requires two keys",
			Object: &corev1.Secret{ObjectMeta: registrytest.Stored("s"), Type: corev1.SecretTypeTLS,
				Data: map[string][]byte{"tls.crt": nil}},
			Want: []string{"data[tls.key]: Required value"},
		},
		{
			Name: "type", Reason: "the type of a secret can't change",
			Object: &corev1.Secret{ObjectMeta: registrytest.Stored("s"), Type: "a"},
			Old:    &corev1.Secret{ObjectMeta: registrytest.Stored("s"), Type: "b"},
			Want:   []string{`type: Invalid value: "a": field is immutable`},
		},
	})
}

func TestSecretDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "stringData",
			Reason:   "stringData overrides data and is not stored",
			Manifest: `{apiVersion: v1, kind: Secret, data: {a: eA==, b: eQ==}, stringData: {b: z}}`,
			Path:     "data",
			Want:     `{a: eA==, b: eg==}`,
		},
	})
}
