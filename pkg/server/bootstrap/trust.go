package bootstrap

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// combineTrust returns the entries of the ConfigMap extension-apiserver-authentication with which an extension API server
// trusts this server and the servers that have published the entries in have. As kube-apiserver does, it keeps each value
// and each certificate once, and no certificate that has expired. Entries of have that can't be read are replaced.
func combineTrust(have, want map[string]string, now time.Time) map[string]string {
	combined := maps.Clone(have)
	if combined == nil {
		combined = map[string]string{}
	}
	for key, value := range want {
		combine := combineLists
		if strings.HasSuffix(key, "client-ca-file") {
			combine = func(have, want string) (string, error) { return combineCertificates(have, want, now) }
		}
		combined[key] = value
		if both, err := combine(have[key], value); err == nil {
			combined[key] = both
		}
	}
	return combined
}

// combineLists combines two lists of strings in JSON. A missing list is empty.
func combineLists(have, want string) (string, error) {
	combined := []string{}
	for _, list := range []string{have, want} {
		var values []string
		if list == "" {
			continue
		}
		if err := json.Unmarshal([]byte(list), &values); err != nil {
			return "", fmt.Errorf("list %q: %w", list, err)
		}
		for _, value := range values {
			if !slices.Contains(combined, value) {
				combined = append(combined, value)
			}
		}
	}
	text, err := json.Marshal(combined)
	return string(text), err
}

// combineCertificates combines two lists of certificates in PEM. A missing list is empty.
func combineCertificates(have, want string, now time.Time) (string, error) {
	var combined []*x509.Certificate
	for _, list := range []string{have, want} {
		if list == "" {
			continue
		}
		certificates, err := certutil.ParseCertsPEM([]byte(list))
		if err != nil {
			return "", err
		}
		for _, c := range certificates {
			known := slices.ContainsFunc(combined, func(other *x509.Certificate) bool { return bytes.Equal(other.Raw, c.Raw) })
			if !known && now.Before(c.NotAfter) {
				combined = append(combined, c)
			}
		}
	}
	text, err := certutil.EncodeCertificates(combined...)
	return string(text), err
}
