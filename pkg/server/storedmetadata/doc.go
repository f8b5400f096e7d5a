// Package storedmetadata passes the metadata of all objects of the embedded etcd to controllers, and counts stored objects.
//
// [New] is the constructor. Don't use the package with an external etcd or with encrypted values: objects.Informers of
// pkg/controllers reads such objects through the API.
package storedmetadata
