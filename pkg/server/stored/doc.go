// Package stored tells controllers of the metadata of all objects that the embedded etcd has, and counts them.
//
// [New] is the way in. Don't use the package for an external etcd, nor where values are encrypted: an
// objects.Informers of pkg/controllers reads both through the API.
package stored
