package control

import _ "embed"

// OpenAPI is the document of OpenAPI 3 that describes the protocol. hack/update-control.sh makes it of Operations.
//
//go:embed openapi.json
var OpenAPI []byte
