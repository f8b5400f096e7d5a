// Package openapi serves the OpenAPI documents of a server, /openapi/v2 and /openapi/v3. It also has the type converter
// of server-side apply. The documents and the type converter are made from the same definitions. [New] is the
// constructor. Don't use the package to validate custom resources by their schemas: apiextensions-apiserver does that.
// The generated definitions are in pkg/registry/generatedopenapi.
package openapi
