// Package admission builds the admission chain of a server: which plugins there are and in which
// order they run (order.go), the flags that choose and configure them (options.go), where the
// service of a webhook is found (services.go), and the barrier that makes what is configured take
// effect before the write that configured it is answered (barrier.go).
//
// It knows nothing of HTTP serving; pkg/server gives it clients, informers and an authorizer, and
// puts the chain that it returns in front of the storage. The in-tree plugins live in folders of
// their own below plugins, the calls of webhooks in webhook, and those of policies in policy. A
// program that only implements or tests a webhook doesn't need this package.
package admission
