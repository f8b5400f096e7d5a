// Package services leads from the client configuration of a webhook to the webhook: it finds the address of the
// webhook's service, and gives the connection its TLS settings and credentials. Addresses has the addresses that a flag
// sets. Resolver finds the other addresses in the API. NewAuthentication makes the settings of connections. NewClient
// makes a client of one webhook from a resolver and these settings.
//
// A cluster has kube-proxy and DNS for the addresses of services. miniapi has neither, so code that only calls services
// in a cluster doesn't need this package.
package services
