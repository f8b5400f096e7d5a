package pod_test

import (
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/registry/core"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPodDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, core.Group), []registrytest.DefaultsCase{
		{
			Name:     "host network",
			Reason:   "container ports are also ports of the host, and a limit is the default of its request",
			Manifest: `{apiVersion: v1, kind: Pod, spec: {hostNetwork: true, containers: [{name: c, resources: {limits: {cpu: 1, memory: 2}, requests: {cpu: 100.5u}}, ports: [{containerPort: 80}]}]}}`,
			Path:     "spec.containers.0",
			Want: `
name: c
imagePullPolicy: IfNotPresent
terminationMessagePath: /dev/termination-log
terminationMessagePolicy: File
resources: {limits: {cpu: "1", memory: "2"}, requests: {cpu: 1m, memory: "2"}}
ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]
`,
		},
		{
			Name:     "negative grace period",
			Reason:   "a pod with a negative grace period has one second",
			Manifest: `{apiVersion: v1, kind: Pod, spec: {terminationGracePeriodSeconds: -1, containers: []}}`,
			Path:     "spec.terminationGracePeriodSeconds",
			Want:     `1`,
		},
		{
			Name:     "quantities of the status",
			Reason:   "thousandths are the smallest unit, in the status, too",
			Manifest: `{apiVersion: v1, kind: Pod, spec: {containers: []}, status: {allocatedResources: {cpu: 1n}, containerStatuses: [{name: c, allocatedResources: {cpu: 1n}, resources: {limits: {cpu: 1500u}}}]}}`,
			Path:     "status",
			Want: `
allocatedResources: {cpu: 1m}
containerStatuses: [{name: c, image: "", imageID: "", ready: false, restartCount: 0, state: {}, lastState: {}, allocatedResources: {cpu: 1m}, resources: {limits: {cpu: 2m}}}]
`,
		},
		{
			Name:     "deprecated service account",
			Reason:   "the deprecated field serviceAccount sets serviceAccountName",
			Manifest: `{apiVersion: v1, kind: Pod, spec: {serviceAccount: builder, containers: []}}`,
			Path:     "spec.serviceAccountName",
			Want:     `builder`,
		},
		{
			Name:     "gRPC probe",
			Reason:   "the service of a gRPC probe defaults to the empty string",
			Manifest: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, livenessProbe: {grpc: {port: 1}}}]}}`,
			Path:     "spec.containers.0.livenessProbe",
			Want:     `{grpc: {port: 1, service: ""}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}`,
		},
		{
			Name:     "volume without a source",
			Reason:   "the default source is an emptyDir",
			Manifest: `{apiVersion: v1, kind: Pod, spec: {containers: [], volumes: [{name: v}]}}`,
			Path:     "spec.volumes",
			Want:     `[{name: v, emptyDir: {}}]`,
		},
		{
			Name:     "projected volume",
			Reason:   "each source of a projected volume has defaults",
			Manifest: `{apiVersion: v1, kind: Pod, spec: {containers: [], volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}}]}}`,
			Path:     "spec.volumes.0.projected",
			Want:     `{defaultMode: 420, sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}, {downwardAPI: {items: [{path: p, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}]}}]}`,
		},
	})
}

func TestImagePullPolicy(t *testing.T) {
	t.Parallel()
	table := registrytest.Table(t, core.Group)
	const digest = "@sha256:3f85b7caad41a95462cf5b787d8a04604c8262cdcdf9a472b8c52ef83375fe15"
	for _, c := range []struct{ name, reason, image, want string }{
		{"no tag", "the tag defaults to latest", "nginx", "Always"},
		{"latest", "the image of the tag latest can change at any time", "registry.example.com:5000/a/b:latest", "Always"},
		{"a port is not a tag", "the part before the slash is a registry with a port", "localhost:5000/a", "Always"},
		{"a tag", "the image of another tag is assumed not to change", "nginx:1.27", "IfNotPresent"},
		{"a digest", "the image of a digest can't change", "nginx" + digest, "IfNotPresent"},
		{"latest with a digest", "the tag decides", "nginx:latest" + digest, "Always"},
		{"upper case", "a repository in upper case is not valid, and has the policy of a tag", "Nginx", "IfNotPresent"},
		{"an image ID", "an image ID is not a name, and has the policy of a tag", digest[len("@sha256:"):], "IfNotPresent"},
		{"nothing", "an empty name is not valid, and has the policy of a tag", "", "IfNotPresent"},
		{"a broken digest", "a malformed digest makes the name invalid", "nginx:latest" + digest[:len(digest)-1], "IfNotPresent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pod := registrytest.Defaulted(t, table, `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: "`+c.image+`"}]}}`)
			if got := registrytest.At(pod, "spec.containers.0.imagePullPolicy"); got != c.want {
				t.Errorf("the pull policy of %q is %v, want %s: %s", c.image, got, c.want, c.reason)
			}
		})
	}
}
