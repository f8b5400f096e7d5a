package serviceaccounttokens

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"

	"github.com/emicklei/go-restful/v3"
)

const (
	// ConfigurationPath is the path of the OpenID provider's configuration.
	ConfigurationPath = "/.well-known/openid-configuration"
	// JWKSPath is the path of the public keys.
	JWKSPath = "/openid/v1/jwks"

	configurationType = "application/json"
	jwksType          = "application/jwk-set+json"
)

// Discovery serves the documents with which an OpenID relying party verifies service account tokens (KEP-1393).
type Discovery struct {
	configuration, keys []byte
}

// providerConfiguration is the part of the OpenID provider's metadata that applies to Kubernetes.
type providerConfiguration struct {
	Issuer        string   `json:"issuer"`
	JWKSURI       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

// jsonWebKey is a public key in the form of RFC 7517.
type jsonWebKey struct {
	Use       string `json:"use"`
	Type      string `json:"kty"`
	ID        string `json:"kid"`
	Curve     string `json:"crv,omitempty"`
	Algorithm string `json:"alg"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
	N         string `json:"n,omitempty"`
	E         string `json:"e,omitempty"`
}

// NewDiscovery makes the documents. The issuer must be an https URL without a query and without a fragment (OpenID
// Connect Discovery 1.0, section 3), because relying parties accept no other. The URL of the keys is jwksURI or, if that
// is empty, a URL of this server at externalAddress (host:port).
func NewDiscovery(issuer, jwksURI, externalAddress string, keys KeySet) (*Discovery, error) {
	if parsed, err := url.Parse(issuer); err != nil || parsed.Scheme != "https" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, fmt.Errorf("service account issuer %q can't be discovered: the issuer must be an https URL without a query and a fragment", issuer)
	}
	if jwksURI == "" {
		jwksURI = (&url.URL{Scheme: "https", Host: externalAddress, Path: JWKSPath}).String()
	}
	configuration := providerConfiguration{
		Issuer:  issuer,
		JWKSURI: jwksURI,
		// The OpenID specification requires the field response_types_supported, though the API server has no logins.
		ResponseTypes: []string{"id_token"},
		SubjectTypes:  []string{"public"},
	}
	set := struct {
		Keys []jsonWebKey `json:"keys"`
	}{Keys: []jsonWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, key.jsonWebKey())
		if !slices.Contains(configuration.Algorithms, key.Algorithm) {
			configuration.Algorithms = append(configuration.Algorithms, key.Algorithm)
		}
	}
	slices.Sort(configuration.Algorithms)

	discovery := &Discovery{}
	var err error
	if discovery.configuration, err = json.Marshal(configuration); err != nil {
		return nil, fmt.Errorf("serialize OpenID provider configuration: %w", err)
	}
	if discovery.keys, err = json.Marshal(set); err != nil {
		return nil, fmt.Errorf("serialize service account keys: %w", err)
	}
	return discovery, nil
}

// WebServices returns go-restful services that serve the two documents, at [ConfigurationPath] and [JWKSPath]. From their
// routes, the server also builds its OpenAPI documents. The descriptions are kube-apiserver's.
func (d *Discovery) WebServices() []*restful.WebService {
	var services []*restful.WebService
	for _, served := range []struct {
		path, mediaType, description, operation string
		document                                []byte
	}{
		{
			ConfigurationPath, configurationType,
			"get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
			"getServiceAccountIssuerOpenIDConfiguration", d.configuration,
		},
		{
			JWKSPath, jwksType, "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
			"getServiceAccountIssuerOpenIDKeyset", d.keys,
		},
	} {
		service := new(restful.WebService).Path(served.path).Produces(served.mediaType)
		services = append(services, service.Route(service.GET("").
			To(func(_ *restful.Request, resp *restful.Response) {
				resp.Header().Set("Content-Type", served.mediaType)
				resp.Header().Set("Cache-Control", "public, max-age=3600")
				_, _ = resp.Write(served.document) // an error means that the client is gone
			}).
			Doc(served.description).Operation(served.operation).Returns(http.StatusOK, "OK", "")))
	}
	return services
}

func (k PublicKey) jsonWebKey() jsonWebKey {
	web := jsonWebKey{Use: "sig", ID: k.ID, Algorithm: k.Algorithm}
	encode := base64.RawURLEncoding.EncodeToString
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		web.Type, web.N, web.E = "RSA", encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		// Coordinates have the curve's full width (RFC 7518, 6.2.1.2).
		width := (key.Curve.Params().BitSize + 7) / 8
		web.Type, web.Curve = "EC", key.Curve.Params().Name
		if point, err := key.Bytes(); err == nil { // bytes are 0x04, X, Y
			web.X, web.Y = encode(point[1:1+width]), encode(point[1+width:])
		}
	}
	return web
}
