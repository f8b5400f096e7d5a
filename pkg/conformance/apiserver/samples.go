package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash/fnv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

//go:embed objects.yaml
var objectsYAML []byte

// samples maps a resource to a sample object. A key is the name of the resource, or has the group and the version in
// front of the name.
type samples map[string]trial.Object

func readSamples() (samples, error) {
	s := samples{}
	if err := yaml.UnmarshalStrict(objectsYAML, &s); err != nil {
		return nil, fmt.Errorf("the embedded file objects.yaml: %w", err)
	}
	return s, nil
}

// of returns the sample for a resource in its version, and whether there is a sample.
func (s samples) of(r trial.Resource) (trial.Object, bool) {
	if content, found := s[r.String()]; found {
		return content, true
	}
	if foreign(r.Group) {
		return nil, false
	}
	content, found := s[r.Name]
	return content, found
}

// filled returns a copy of a sample for the object called name. Words of the sample that begin with a dollar sign are
// variables, such as $NAMESPACE: filled replaces each of them by its value.
func (w *walk) filled(content trial.Object, name string) trial.Object {
	body, err := json.Marshal(content)
	if err != nil {
		w.FailNow("the sample is JSON", err.Error())
	}
	text := string(body)
	for _, word := range []struct {
		word  string
		value func() (string, error)
	}{
		{"$NAMESPACE", func() (string, error) { return w.Namespace(), nil }},
		{"$NAME", func() (string, error) { return name, nil }},
		{"$ADDRESS", func() (string, error) { return benchmarkAddress(name), nil }},
		{"$PEM_REQUEST", func() (string, error) { return certificateRequest(true) }},
		{"$DER_REQUEST", func() (string, error) { return certificateRequest(false) }},
		{"$AUTHORITY", authority},
	} {
		if !strings.Contains(text, word.word) {
			continue
		}
		value, err := word.value()
		if err != nil {
			w.FailNow("the value of "+word.word+" can be made", err.Error())
		}
		text = strings.ReplaceAll(text, word.word, value)
	}
	return trial.Decoded(text)
}

// benchmarkAddress returns an address of 198.18.0.0/15. The range is reserved for benchmarks, so no network routes it.
func benchmarkAddress(name string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // Write of a hash never returns an error
	sum := hash.Sum32()
	return fmt.Sprintf("198.18.%d.%d", sum>>8&0xff, sum&0xff)
}

// certificateRequest returns a PKCS #10 request in base64. If asPEM is true, the request has PEM around it.
func certificateRequest(asPEM bool) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "conformance"}}, key)
	if err != nil {
		return "", err
	}
	if asPEM {
		request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})
	}
	return base64.StdEncoding.EncodeToString(request), nil
}

// authority returns the certificate of an authority as a JSON string without its quotes.
func authority() (string, error) {
	bundle, err := webhookserver.OtherAuthority()
	return strings.ReplaceAll(string(bundle), "\n", `\n`), err
}
