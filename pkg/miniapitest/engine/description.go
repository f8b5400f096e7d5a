package engine

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// Description has the options of a server as data. The zero value stands for the defaults of "miniapi serve", with a
// free port.
type Description struct {
	// RuntimeConfig is the choice of the API versions to serve, as in kube-apiserver's flag --runtime-config.
	RuntimeConfig map[string]string `json:"runtimeConfig,omitempty"`
	// EnablePlugins are admission plugins that are off by default.
	EnablePlugins []string `json:"enablePlugins,omitempty"`
	// DisablePlugins are admission plugins that are on by default.
	DisablePlugins []string `json:"disablePlugins,omitempty"`
	// Controllers selects the controllers that run in the server: NAME selects one, * selects all, and -NAME excludes
	// one.
	Controllers []string `json:"controllers,omitempty"`
	// Workloads makes the server run workloads. Without it, there are no nodes.
	Workloads *Workloads `json:"workloads,omitempty"`
	// FeatureGates are the feature gates to set. Most apply to the whole process of the server.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// EmulatedVersion is the version of Kubernetes that the whole process of the server emulates, such as 1.36.
	EmulatedVersion string `json:"emulatedVersion,omitempty"`
	// DataDir is the folder for the data, or "" for a temporary one.
	DataDir string `json:"dataDir,omitempty"`
	// Audit makes the server report audit events. AuditPolicy is a Policy of audit.k8s.io/v1 in JSON. Without a policy,
	// all requests are audited.
	Audit       bool            `json:"audit,omitempty"`
	AuditPolicy json.RawMessage `json:"auditPolicy,omitempty"`
	// Services has addresses of the services of webhooks. If another option sets the address of a service, the server
	// uses that address.
	Services []Place `json:"services,omitempty"`
	// ExemptGroup is a group whose users' requests webhooks and policies don't review, or "".
	ExemptGroup string `json:"exemptGroup,omitempty"`
	// Callers are the admission plugins that must be on. If one of these plugins is off, the start fails.
	Callers []Caller `json:"callers,omitempty"`
	// Flags are flags of "miniapi serve", as --name or --name=value.
	Flags []string `json:"flags,omitempty"`
	// Definitions are CustomResourceDefinitions that the server stores at its start, as if the fixture had applied
	// them. Info.Installed lists the definitions that the server has stored. The JSON of a Description doesn't have the
	// definitions, because package wire sends them separately: if the field Kept of a Content is true, a process gets
	// this Content only once.
	Definitions []*Content `json:"-"`
	// DefinitionManager is the field manager of the definitions.
	DefinitionManager string `json:"definitionManager,omitempty"`
	// Kept is a name that stands for the objects that the fixture applies to the server, and for all options that
	// affect the stored objects. It is "" if no objects can be kept. If an earlier server has kept objects under the
	// same name (Server.Keep), the new server has copies of these objects from its start. Info.Kept lists the objects.
	Kept string `json:"kept,omitempty"`
	// Leftover is a folder of the fixture. If the test process ends without stopping the server, an engine in another
	// process removes the folder.
	Leftover string `json:"leftover,omitempty"`
}

// Workloads are the controllers of workloads, with a scheduler and nodes whose pods pretend to be ready.
type Workloads struct {
	// Nodes is the number of nodes, 1 by default.
	Nodes *int `json:"nodes,omitempty"`
	// Stages are files with kwok's Stages, or names of sets of stages, as the values of the flag --stages.
	Stages []string `json:"stages,omitempty"`
	// RunPods runs the containers of pods with the annotation miniapi.dev/command as processes of this machine, with the
	// rights of this user. Clients that may create pods run commands by it.
	RunPods bool `json:"runPods,omitempty"`
}

// Content is an object in JSON. It is never changed, so an engine may identify it by its pointer.
type Content struct {
	JSON []byte
	// Kept is true if later descriptions have the same Content. An engine keeps a Content for later servers only if
	// Kept is true.
	Kept bool

	summing sync.Once
	sum     [sha256.Size]byte
}

// Sum returns the SHA-256 hash of the object.
func (c *Content) Sum() [sha256.Size]byte {
	c.summing.Do(func() { c.sum = sha256.Sum256(c.JSON) })
	return c.sum
}

// Place is the address of a service, or of one of its ports. The port 0 stands for all ports.
type Place struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Port      int32  `json:"port,omitempty"`
	Address   string `json:"address"`
}

// Caller is an admission plugin that calls the webhooks of a configuration.
type Caller struct {
	Plugin string `json:"plugin"`
	// Configuration names the configuration and its source, for errors.
	Configuration string `json:"configuration"`
}

// Webhook is the address of a webhook, which is a URL or a service, and its authorities.
type Webhook struct {
	Name     string   `json:"name"`
	URL      string   `json:"url,omitempty"`
	CABundle []byte   `json:"caBundle,omitempty"`
	Service  *Service `json:"service,omitempty"`
}

// Service is the service of a webhook.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Path      string `json:"path,omitempty"`
	Port      int32  `json:"port"`
}

// ReachHeader is a header of the requests that Server.Reach sends, with the value ReachRequest. The fixture's webhook
// server doesn't pass such a request to the handler, and answers with the same header and the value ReachAnswer.
const (
	ReachHeader  = "Miniapi-Reach"
	ReachRequest = "request"
	ReachAnswer  = "answer"
)
