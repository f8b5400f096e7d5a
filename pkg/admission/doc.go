// Package admission builds the admission chain of a server. order.go lists the plugins in their order. options.go
// has the flags that select and configure plugins. service_resolver.go finds the addresses of webhooks' services, and
// service_addresses.go has those that a flag gives. barrier.go makes a write of configuration wait until the
// configuration is in force.
//
// The package doesn't serve HTTP. pkg/server passes clients, informers and an authorizer to New, and calls the
// chain before its storage. The in-tree plugins are in folders below plugins, the calls of webhooks in webhook, and
// policies in policy.
//
// A program that implements or tests a webhook doesn't need this package.
package admission
