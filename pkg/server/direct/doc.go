// Package direct writes the server's own objects to their storages directly, without the handler chain and admission.
// The objects are as if a request of the server had written them: with defaults, validation and managed fields.
//
// [New] is the constructor. Another part of the server that writes to a storage itself uses [AsServer] and
// [NewFieldManager]. Don't use the package for requests of users, which need admission.
package direct
