package engine

import "encoding/json"

// Description describes a server, by the options of the fixture. The zero value has the defaults of "miniapi serve" on
// a free port.
type Description struct {
	// RuntimeConfig, EnablePlugins and DisablePlugins are those of kube-apiserver's flags.
	RuntimeConfig                 map[string]string `json:",omitempty"`
	EnablePlugins, DisablePlugins []string          `json:",omitempty"`
	// Controllers run in the server: NAME for one, * for all, -NAME for all but one.
	Controllers []string `json:",omitempty"`
	// FeatureGates and EmulatedVersion hold for the process of the server.
	FeatureGates    map[string]bool `json:",omitempty"`
	EmulatedVersion string          `json:",omitempty"`
	// DataDir keeps the data.
	DataDir string `json:",omitempty"`
	// Audit asks for audit events. AuditPolicy is a Policy of audit.k8s.io/v1 in JSON; without it, all requests are
	// audited.
	Audit       bool            `json:",omitempty"`
	AuditPolicy json.RawMessage `json:",omitempty"`
	// Services places the services of webhooks that no other option places.
	Services []Place `json:",omitempty"`
	// Callers are the admission plugins that must be on.
	Callers []Caller `json:",omitempty"`
	// Flags are flags of "miniapi serve", as --name or --name=value.
	Flags []string `json:",omitempty"`
	// Definitions are CustomResourceDefinitions to have from the start, as if the fixture had applied them. Info.Installed
	// lists those that the server has. The JSON of a Description leaves out the definitions: an engine in another process
	// sends each of them, and those that are kept once.
	Definitions []*Content `json:"-"`
	// DefinitionManager is the field manager that would apply them.
	DefinitionManager string `json:",omitempty"`
	// Leftover is a folder of the fixture. An engine that outlives the test process removes it, if the server wasn't
	// stopped.
	Leftover string `json:",omitempty"`
}

// Content is an object in JSON. It is never changed: an engine may know it by its address.
type Content struct {
	JSON []byte
	// Kept tells that later descriptions have the content, too. An engine keeps no other content.
	Kept bool
}

// Place is the address of a service, or of one of its ports. Port 0 stands for all ports.
type Place struct {
	Namespace, Name string
	Port            int32 `json:",omitempty"`
	Address         string
}

// Caller is an admission plugin that calls the webhooks of a configuration.
type Caller struct {
	Plugin string
	// Configuration names the configuration, and its source, for an error.
	Configuration string
}

// Webhook is how a server calls a webhook: by URL or by service.
type Webhook struct {
	Name     string
	URL      string   `json:",omitempty"`
	CABundle []byte   `json:",omitempty"`
	Service  *Service `json:",omitempty"`
}

// Service is the service of a webhook.
type Service struct {
	Namespace, Name, Path string
	Port                  int32
}

// ReachHeader marks the request by which a server reaches a webhook, and the fixture's answer. The fixture doesn't pass
// the request to the handler.
const (
	ReachHeader  = "Miniapi-Reach"
	ReachRequest = "request"
	ReachAnswer  = "answer"
)
