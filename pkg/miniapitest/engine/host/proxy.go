package host

import (
	"net/http"
	"net/http/httputil"
	"net/url"

	"k8s.io/client-go/rest"
)

// proxy returns a handler that makes requests to the API server as its admin.
func (s *hosted) proxy() (http.Handler, error) {
	config, err := s.admin()
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(address)
			r.Out.Header.Del("Authorization") // the token is the host's
		},
		Transport:    transport,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { fail(w, http.StatusBadGateway, err) },
	}, nil
}
