package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The registration follows the serving certificate, so the cluster reaches a server whose certificate is replaced.
func TestReplacedCertificate(t *testing.T) {
	t.Parallel()
	front := miniapitest.Start(t)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	replace := func() (cert []byte) {
		cert, key, err := certutil.GenerateSelfSignedCertKey("wardle-example-com.default.svc", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
			t.Fatal(err)
		}
		return cert
	}
	replace()
	serve(t, "--behind="+front.KubeconfigFile(), "--register=until-exit", "--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile)
	flunders := front.DynamicClient().Resource(v1beta1.WithResource("flunders"))
	for range 3 {
		awaitAvailable(t, front, "v1beta1.wardle.example.com")
		eventually(t, "the cluster reaches the server", func() bool {
			_, err := flunders.List(t.Context(), metav1.ListOptions{})
			return err == nil
		})
		replaced := replace()
		eventually(t, "the APIService has the certificate", func() bool {
			service, err := apiServices(t, front).ApiregistrationV1().APIServices().Get(t.Context(), "v1beta1.wardle.example.com", metav1.GetOptions{})
			return err == nil && bytes.Contains(service.Spec.CABundle, replaced)
		})
	}
}
