// Package pki makes the certificates of a server and its webhooks, and stores their keys.
//
// [NewAuthority] makes an [Authority], which issues certificates. [NewStore] makes a [Store], a folder for the keys of
// a server. With the stored keys, kubeconfigs, certificates and tokens of clients stay valid after a restart. The Store
// issues a certificate that expires soon, or whose names change, again for the same key.
//
// Don't use the package for certificates of other authorities: package dynamiccertificates of k8s.io/apiserver reads
// such certificates, and reads them again when they change.
package pki
