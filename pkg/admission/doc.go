// Package admission builds the admission chain of a server. order.go lists the plugins in their order. options.go
// has the flags that select and configure plugins. barrier.go makes a write of configuration wait until the
// configuration is in force. recorded_chain.go records what each plugin does with a request.
//
// The package doesn't serve HTTP. pkg/server passes clients, informers and an authorizer to New, and calls the
// chain before its storage. The in-tree plugins are in folders below plugins, the calls of webhooks in webhook, the
// addresses of webhooks' services in services, and policies in policy.
//
// A program that implements or tests a webhook doesn't need this package.
package admission
