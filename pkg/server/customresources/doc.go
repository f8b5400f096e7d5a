// Package customresources serves custom resources, and the API in which they are defined, by apiextensions-apiserver.
// [New] is the constructor.
//
// The package adds three things to that library. First, the answer to a write of a definition waits until the write is
// in effect: the controllers have accepted or refused the names, and discovery has the accepted resources. Second, a
// restore of a snapshot can write definitions to etcd directly, without the API's storage. Third, an embedded etcd can
// have definitions from the start: see [Resources.Install]. Package serving shares the handlers of custom resources
// between the servers of a process. The library converts custom resources and calls their conversion webhooks:
// handler.go passes Config.Services and Config.WebhookAuth to the library for these calls.
//
// Don't use the package for the kinds of a registry.Table: see package groups. Don't use it for the APIs of other
// servers: see package aggregation.
package customresources
