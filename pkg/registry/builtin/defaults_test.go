package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// defaulted decodes a manifest, sets its defaults, and returns it as a map.
func defaulted(t *testing.T, manifest string) map[string]any {
	t.Helper()
	s := builtin.Table().Scheme()
	obj, _, err := json.NewSerializerWithOptions(json.DefaultMetaFactory, s, s, json.SerializerOptions{Yaml: true, Strict: true}).
		Decode([]byte(manifest), nil, nil)
	if err != nil {
		t.Fatalf("decoding the manifest: %v", err)
	}
	s.Default(obj)
	once, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	s.Default(obj)
	twice, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, twice); diff != "" {
		t.Errorf("setting defaults again changed the object (-once +twice):\n%s", diff)
	}
	return once
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		manifest     string
		path         string
		want         string // as YAML
	}{
		{
			name:     "a template is not a pod",
			reason:   "requests, service links and host ports are those of the pod that is made of it",
			manifest: `{apiVersion: v1, kind: PodTemplate, template: {spec: {hostNetwork: true, containers: [{name: c, image: i:1, resources: {limits: {cpu: 1}}, ports: [{containerPort: 80}]}]}}}`,
			path:     "template.spec",
			want: `
hostNetwork: true
restartPolicy: Always
dnsPolicy: ClusterFirst
schedulerName: default-scheduler
securityContext: {}
terminationGracePeriodSeconds: 30
containers:
- name: c
  image: i:1
  imagePullPolicy: IfNotPresent
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: File
  resources: {limits: {cpu: "1"}}
  ports: [{containerPort: 80, protocol: TCP}]
`,
		},
		{
			name:     "a pod on its node's network",
			reason:   "its ports are ports of the node, and what it is limited to is requested",
			manifest: `{apiVersion: v1, kind: Pod, spec: {hostNetwork: true, containers: [{name: c, resources: {limits: {cpu: 1, memory: 2}, requests: {cpu: 100.5u}}, ports: [{containerPort: 80}]}]}}`,
			path:     "spec.containers.0",
			want: `
name: c
imagePullPolicy: IfNotPresent
terminationMessagePath: /dev/termination-log
terminationMessagePolicy: File
resources: {limits: {cpu: "1", memory: "2"}, requests: {cpu: 1m, memory: "2"}}
ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]
`,
		},
		{
			name:     "pod-level resources",
			reason:   "KEP-2837: the pod requests what its containers do, or else its limit; huge pages are limited as in the containers",
			manifest: `{apiVersion: v1, kind: Pod, spec: {resources: {limits: {cpu: 2, memory: 1Gi}}, containers: [{name: c, resources: {requests: {cpu: 1, hugepages-2Mi: 4Mi}, limits: {hugepages-2Mi: 4Mi}}}]}}`,
			path:     "spec.resources",
			want:     `{limits: {cpu: "2", memory: 1Gi, hugepages-2Mi: 4Mi}, requests: {cpu: "1", memory: 1Gi, hugepages-2Mi: 4Mi}}`,
		},
		{
			name:     "the old service account field",
			reason:   "clients that know only serviceAccount are heard",
			manifest: `{apiVersion: v1, kind: Pod, spec: {serviceAccount: builder, containers: []}}`,
			path:     "spec.serviceAccountName",
			want:     `builder`,
		},
		{
			name:     "a probe",
			reason:   "an empty gRPC service is written out",
			manifest: `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, livenessProbe: {grpc: {port: 1}}}]}}`,
			path:     "spec.containers.0.livenessProbe",
			want:     `{grpc: {port: 1, service: ""}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}`,
		},
		{
			name:     "a volume without source",
			reason:   "it is an emptyDir",
			manifest: `{apiVersion: v1, kind: Pod, spec: {containers: [], volumes: [{name: v}]}}`,
			path:     "spec.volumes",
			want:     `[{name: v, emptyDir: {}}]`,
		},
		{
			name:     "projected volumes",
			reason:   "sources have defaults of their own",
			manifest: `{apiVersion: v1, kind: Pod, spec: {containers: [], volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}}]}}`,
			path:     "spec.volumes.0.projected",
			want:     `{defaultMode: 420, sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}, {downwardAPI: {items: [{path: p, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}]}}]}`,
		},
		{
			name:     "a stringData secret",
			reason:   "stringData wins over data and is not kept",
			manifest: `{apiVersion: v1, kind: Secret, data: {a: eA==, b: eQ==}, stringData: {b: z}}`,
			path:     "data",
			want:     `{a: eA==, b: eg==}`,
		},
		{
			name:     "an external name",
			reason:   "traffic policies are for services with an address",
			manifest: `{apiVersion: v1, kind: Service, spec: {type: ExternalName, externalName: example.com, ports: [{port: 80}]}}`,
			path:     "spec",
			want:     `{type: ExternalName, externalName: example.com, sessionAffinity: None, ports: [{port: 80, protocol: TCP, targetPort: 80}]}`,
		},
		{
			name:     "a load balancer with client affinity",
			reason:   "every default of a service at once",
			manifest: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, sessionAffinity: ClientIP, ports: [{port: 80, targetPort: http}]}}`,
			path:     "spec",
			want: `
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
			name:     "a cluster IP with external IPs",
			reason:   "it is reached from outside, so it has an external traffic policy",
			manifest: `{apiVersion: v1, kind: Service, spec: {externalIPs: [192.0.2.1]}}`,
			path:     "spec.externalTrafficPolicy",
			want:     `Cluster`,
		},
		{
			name:     "a limit range of containers",
			reason:   "the default is the maximum, the default request the default or else the minimum",
			manifest: `{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: 2}, min: {memory: 1Mi}}]}}`,
			path:     "spec.limits.0",
			want:     `{type: Container, max: {cpu: "2"}, min: {memory: 1Mi}, default: {cpu: "2"}, defaultRequest: {cpu: "2", memory: 1Mi}}`,
		},
		{
			name:     "a controller without labels and selector",
			reason:   "it takes those of its template",
			manifest: `{apiVersion: v1, kind: ReplicationController, spec: {template: {metadata: {labels: {a: b}}, spec: {containers: []}}}}`,
			path:     "spec.selector",
			want:     `{a: b}`,
		},
		{
			name:     "a stateful set on delete",
			reason:   "no partition without rolling updates; claims are whole objects",
			manifest: `{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: s, selector: {}, updateStrategy: {type: OnDelete}, template: {spec: {containers: []}}, volumeClaimTemplates: [{metadata: {name: d}}]}}`,
			path:     "spec.volumeClaimTemplates.0",
			want:     `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: {volumeMode: Filesystem, resources: {}}, status: {phase: Pending}}`,
		},
		{
			name:     "a job limited per index",
			reason:   "its pods together may fail any number of times",
			manifest: `{apiVersion: batch/v1, kind: Job, spec: {completions: 3, backoffLimitPerIndex: 1, completionMode: Indexed, podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}}}`,
			path:     "spec",
			want: `
backoffLimit: 2147483647
backoffLimitPerIndex: 1
completionMode: Indexed
completions: 3
parallelism: 1
manualSelector: false
suspend: false
podReplacementPolicy: Failed
podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}]}
template: {metadata: {}, spec: {containers: null, dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}}
`,
		},
		{
			name:     "an autoscaler's behavior",
			reason:   "once there is one, both directions are written out",
			manifest: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {behavior: {scaleDown: {selectPolicy: Min}}}}`,
			path:     "spec.behavior",
			want: `
scaleUp: {selectPolicy: Max, stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]}
scaleDown: {selectPolicy: Min, policies: [{type: Percent, value: 100, periodSeconds: 15}]}
`,
		},
		{
			name:     "a webhook in v1",
			reason:   "the defaults are strict; side effects and review versions must be said",
			manifest: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: w, sideEffects: null, clientConfig: {service: {name: hook, namespace: default}}, rules: [{operations: [CREATE]}]}]}`,
			path:     "webhooks.0",
			want: `
name: w
admissionReviewVersions: null
clientConfig: {service: {name: hook, namespace: default, port: 443}}
failurePolicy: Fail
matchPolicy: Equivalent
namespaceSelector: {}
objectSelector: {}
reinvocationPolicy: Never
rules: [{operations: [CREATE], scope: "*"}]
sideEffects: null
timeoutSeconds: 10
`,
		},
		{
			name:     "a webhook in v1beta1",
			reason:   "the defaults of its time",
			manifest: `{apiVersion: admissionregistration.k8s.io/v1beta1, kind: MutatingWebhookConfiguration, webhooks: [{name: w, clientConfig: {url: "https://example.com"}, rules: [{operations: [CREATE]}]}]}`,
			path:     "webhooks.0",
			want: `
name: w
admissionReviewVersions: [v1beta1]
clientConfig: {url: "https://example.com"}
failurePolicy: Ignore
matchPolicy: Exact
namespaceSelector: {}
objectSelector: {}
reinvocationPolicy: Never
rules: [{operations: [CREATE], scope: "*"}]
sideEffects: Unknown
timeoutSeconds: 30
`,
		},
		{
			name:     "a network policy with egress rules",
			reason:   "it is about both directions",
			manifest: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, egress: [{ports: [{port: 53}]}]}}`,
			path:     "spec",
			want:     `{podSelector: {}, egress: [{ports: [{port: 53, protocol: TCP}]}], policyTypes: [Ingress, Egress]}`,
		},
		{
			name:     "a deployment of extensions",
			reason:   "one pod at a time, without end, and it selects its template's labels",
			manifest: `{apiVersion: extensions/v1beta1, kind: Deployment, spec: {template: {metadata: {labels: {a: b}}, spec: {containers: []}}}}`,
			path:     "spec",
			want: `
replicas: 1
selector: {matchLabels: {a: b}}
strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}
revisionHistoryLimit: 2147483647
progressDeadlineSeconds: 2147483647
template: {metadata: {labels: {a: b}}, spec: {containers: [], dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}}
`,
		},
		{
			name:     "shares of zero in v1beta3",
			reason:   "the annotation says that zero is meant",
			manifest: `{apiVersion: flowcontrol.apiserver.k8s.io/v1beta3, kind: PriorityLevelConfiguration, metadata: {annotations: {flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: ""}}, spec: {type: Limited, limited: {nominalConcurrencyShares: 0}}}`,
			path:     "spec.limited",
			want:     `{nominalConcurrencyShares: 0, lendablePercent: 0, limitResponse: {type: ""}}`,
		},
		{
			name:     "alternatives in v1beta1",
			reason:   "a request without a class has no count of its own",
			manifest: `{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, spec: {devices: {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c}]}]}}}`,
			path:     "spec.devices.requests.0",
			want:     `{name: r, deviceClassName: "", firstAvailable: [{name: s, deviceClassName: c, allocationMode: ExactCount, count: 1}]}`,
		},
		{
			name:     "subjects of a binding",
			reason:   "service accounts are in the core group",
			manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}]}`,
			path:     "subjects",
			want:     `[{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}, {kind: ServiceAccount, name: s}]`,
		},
		{
			name:     "a budget with the label of v1beta1",
			reason:   "it must not take part in a selector that says more",
			manifest: `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {selector: {matchLabels: {a: b}, matchExpressions: [{key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: Exists}]}}}`,
			path:     "spec.selector",
			want:     `{matchLabels: {a: b}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var want any
			if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, toFloats(at(defaulted(t, c.manifest), c.path))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// toFloats makes numbers what YAML makes of them.
func toFloats(v any) any {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case map[string]any:
		for k := range x {
			x[k] = toFloats(x[k])
		}
	case []any:
		for i := range x {
			x[i] = toFloats(x[i])
		}
	}
	return v
}

func TestImagePullPolicy(t *testing.T) {
	t.Parallel()
	const digest = "@sha256:3f85b7caad41a95462cf5b787d8a04604c8262cdcdf9a472b8c52ef83375fe15"
	for _, c := range []struct{ name, reason, image, want string }{
		{"no tag", "means latest", "nginx", "Always"},
		{"latest", "may change at any time", "registry.example.com:5000/a/b:latest", "Always"},
		{"a port is not a tag", "the part before the slash is a registry", "localhost:5000/a", "Always"},
		{"a tag", "is taken to stay", "nginx:1.27", "IfNotPresent"},
		{"a digest", "can't change", "nginx" + digest, "IfNotPresent"},
		{"latest with a digest", "the tag decides", "nginx:latest" + digest, "Always"},
		{"upper case", "is no valid repository", "Nginx", "IfNotPresent"},
		{"an image ID", "is no name", digest[len("@sha256:"):], "IfNotPresent"},
		{"nothing", "is no name", "", "IfNotPresent"},
		{"a broken digest", "makes the reference invalid", "nginx:latest" + digest[:len(digest)-1], "IfNotPresent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pod := defaulted(t, `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: "`+c.image+`"}]}}`)
			if got := at(pod, "spec.containers.0.imagePullPolicy"); got != c.want {
				t.Errorf("the pull policy of %q is %v, want %s: it %s", c.image, got, c.want, c.reason)
			}
		})
	}
}
