// Package pki makes the certificates of a server and of what it calls, and keeps their keys.
//
// An [Authority] issues certificates. A [Store] is a folder in which the keys of a server outlive it, so that what
// clients have been given still works after a restart: kubeconfigs, certificates and tokens. Keys are what is kept:
// certificates are issued anew for the same key when they are about to end or their names change.
//
// Don't use it for certificates that somebody else has issued: package dynamiccertificates of k8s.io/apiserver reads
// these, and reads them again when they change.
package pki
