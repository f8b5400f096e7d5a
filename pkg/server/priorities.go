package server

// groupPriorities are those of kube-apiserver's groups. Clients tell apart resources of the same name by them, and
// list groups in their order: those of custom resources have 1000.
var groupPriorities = map[string]int32{
	"apiregistration.k8s.io":       20001,
	"":                             18000,
	"apps":                         17800,
	"events.k8s.io":                17750,
	"authentication.k8s.io":        17700,
	"authorization.k8s.io":         17600,
	"autoscaling":                  17500,
	"batch":                        17400,
	"certificates.k8s.io":          17300,
	"networking.k8s.io":            17200,
	"extensions":                   17150,
	"policy":                       17100,
	"rbac.authorization.k8s.io":    17000,
	"storage.k8s.io":               16800,
	"admissionregistration.k8s.io": 16700,
	"apiextensions.k8s.io":         16700,
	"scheduling.k8s.io":            16600,
	"coordination.k8s.io":          16500,
	"node.k8s.io":                  16300,
	"discovery.k8s.io":             16200,
	"flowcontrol.apiserver.k8s.io": 16100,
	"resource.k8s.io":              15900,
	"storagemigration.k8s.io":      15800,
}

// versionPriority is that of a group's last version; the one before it has twice as much, and so on.
const versionPriority = 15
