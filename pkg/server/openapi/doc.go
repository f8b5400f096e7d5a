// Package openapi describes the APIs of a server: it serves /openapi/v2 and /openapi/v3, and has the type converter
// of server-side apply, which is made from the same definitions. [New] is the way in. Don't use the package for the
// schemas of custom resources in requests: apiextensions-apiserver has these. The generated definitions are in
// pkg/registry/openapi.
package openapi
