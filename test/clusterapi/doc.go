// Package miniapi proves that pkg/runtimehooks of miniapi and Cluster API's own code understand each other.
//
// It is a module of its own, with a go.work of its own, so that nothing of Cluster API is among the dependencies of
// miniapi. The module's path is below that of Cluster API because its client of hooks is internal. The module is never
// published.
package miniapi
