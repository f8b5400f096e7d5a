package service_test

import (
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestServiceDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, core.Group), []registrytest.DefaultsCase{
		{
			Name:     "external name",
			Reason:   "a service without addresses has no traffic policies",
			Manifest: `{apiVersion: v1, kind: Service, spec: {type: ExternalName, externalName: example.com, ports: [{port: 80}]}}`,
			Path:     "spec",
			Want:     `{type: ExternalName, externalName: example.com, sessionAffinity: None, ports: [{port: 80, protocol: TCP, targetPort: 80}]}`,
		},
		{
			Name:     "load balancer with client affinity",
			Reason:   "the case has all defaults of a service",
			Manifest: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, sessionAffinity: ClientIP, ports: [{port: 80, targetPort: http}]}}`,
			Path:     "spec",
			Want: `
type: LoadBalancer
sessionAffinity: ClientIP
sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}
internalTrafficPolicy: Cluster
externalTrafficPolicy: Cluster
allocateLoadBalancerNodePorts: true
ports: [{port: 80, protocol: TCP, targetPort: http}]
`,
		},
		{
			Name:     "external IPs",
			Reason:   "a service that is reachable from outside has an external traffic policy",
			Manifest: `{apiVersion: v1, kind: Service, spec: {externalIPs: [192.0.2.1]}}`,
			Path:     "spec.externalTrafficPolicy",
			Want:     `Cluster`,
		},
	})
}
