package keys

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

const (
	// IssuePath is the path at which the server's authority issues serving certificates to webhooks. The body of a POST
	// is a certificate request in PEM. The response is the certificate, followed by the authority's certificate. Users
	// need permission to post to this nonResourceURL.
	IssuePath = "/miniapi/v1/servingcertificates"

	// requestBytes is the largest size of a certificate request in bytes.
	requestBytes = 64 << 10
)

// Issuer returns the handler of IssuePath.
func Issuer(authority *pki.Authority, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		chain, err := issue(authority, w, req)
		if err != nil {
			responsewriters.ErrorNegotiated(err, serializer, schema.GroupVersion{}, w, req)
			return
		}
		w.Header().Set("Content-Type", "application/pem-certificate-chain") // the content type of RFC 8555
		_, _ = w.Write(chain)
	})
}

func issue(authority *pki.Authority, w http.ResponseWriter, req *http.Request) ([]byte, error) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "servingcertificates"}, req.Method)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, requestBytes))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", large.Limit))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	chain, err := authority.ServingFor(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return chain, nil
}
