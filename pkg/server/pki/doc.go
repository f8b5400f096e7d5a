// Package pki makes the certificates of a server and its webhooks, and stores their keys.
//
// An [Authority] issues certificates. A [Store] is a folder for the keys of a server, so that kubeconfigs, certificates
// and tokens of clients stay valid after a restart. A certificate that expires soon, or whose names change, is issued
// again for the same key.
//
// Don't use the package for certificates of other authorities: package dynamiccertificates of k8s.io/apiserver reads
// such certificates, and reads them again when they change.
package pki
