package builtin_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	eventsv1 "k8s.io/api/events/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

func TestConvert(t *testing.T) {
	t.Parallel()
	s := builtin.Table().Scheme()
	for _, c := range []struct {
		name, reason string
		manifest     string
		to           runtime.Object
		path         string // of the compared part
		want         string // as YAML
	}{
		{
			name:     "a rollback",
			reason:   "apps/v1 has an annotation where extensions has a field",
			manifest: `{apiVersion: extensions/v1beta1, kind: Deployment, spec: {rollbackTo: {revision: 3}, template: {}}}`,
			to:       &appsv1.Deployment{},
			path:     "metadata",
			want:     `{annotations: {deprecated.deployment.rollback.to: "3"}}`,
		},
		{
			name:     "no rollback",
			reason:   "in extensions, the annotation says nothing",
			manifest: `{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {annotations: {deprecated.deployment.rollback.to: "3"}}, spec: {template: {}}}`,
			to:       &appsv1.Deployment{},
			path:     "metadata",
			want:     `{}`,
		},
		{
			name:     "a template generation",
			reason:   "extensions has a field where apps/v1 has an annotation",
			manifest: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {annotations: {deprecated.daemonset.template.generation: "7"}}, spec: {template: {}}}`,
			to:       &extensionsv1beta1.DaemonSet{},
			path:     "spec.templateGeneration",
			want:     `7`,
		},
		{
			name:     "a scale's selector",
			reason:   "old versions have it as a map too, as far as a map can say it",
			manifest: `{apiVersion: autoscaling/v1, kind: Scale, status: {replicas: 2, selector: "a=b"}}`,
			to:       &extensionsv1beta1.Scale{},
			path:     "status",
			want:     `{replicas: 2, selector: {a: b}, targetSelector: a=b}`,
		},
		{
			name:     "a scale's selector of expressions",
			reason:   "a map can't say it",
			manifest: `{apiVersion: autoscaling/v1, kind: Scale, status: {replicas: 2, selector: "a in (b,c)"}}`,
			to:       &extensionsv1beta1.Scale{},
			path:     "status",
			want:     `{replicas: 2, targetSelector: "a in (b,c)"}`,
		},
		{
			name:     "an autoscaler's CPU target",
			reason:   "it is one metric of many in v2",
			manifest: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, spec: {targetCPUUtilizationPercentage: 50, maxReplicas: 1, scaleTargetRef: {kind: k, name: x}}}`,
			to:       &autoscalingv2.HorizontalPodAutoscaler{},
			path:     "spec.metrics",
			want:     `[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]`,
		},
		{
			name:     "an autoscaler of v2 in v1",
			reason:   "what v1 has no fields for is in annotations, the behavior with the names of Go",
			manifest: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 1, scaleTargetRef: {kind: k, name: x}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}, {type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: 1k}}}], behavior: {scaleDown: {selectPolicy: Min, policies: [{type: Pods, value: 1, periodSeconds: 15}]}}}}`,
			to:       &autoscalingv1.HorizontalPodAutoscaler{},
			path:     "metadata.annotations",
			want: `
autoscaling.alpha.kubernetes.io/metrics: '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1k"}}]'
autoscaling.alpha.kubernetes.io/behavior: '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}],"Tolerance":null}}'
`,
		},
		{
			name:     "an autoscaler's annotations",
			reason:   "they become fields, and the CPU target comes after the other metrics; broken ones are dropped",
			manifest: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {annotations: {autoscaling.alpha.kubernetes.io/metrics: '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]', autoscaling.alpha.kubernetes.io/behavior: '{"ScaleUp":{"SelectPolicy":"Max"}}', autoscaling.alpha.kubernetes.io/conditions: oops}}, spec: {targetCPUUtilizationPercentage: 50, maxReplicas: 1, scaleTargetRef: {kind: k, name: x}}}`,
			to:       &autoscalingv2.HorizontalPodAutoscaler{},
			path:     "",
			want: `
metadata: {}
spec:
  maxReplicas: 1
  scaleTargetRef: {kind: k, name: x}
  behavior: {scaleUp: {selectPolicy: Max}}
  metrics:
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Gi}}}
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
status: {currentMetrics: null, desiredReplicas: 0}
`,
		},
		{
			name:     "an event",
			reason:   "the core group has other names for the same",
			manifest: `{apiVersion: events.k8s.io/v1, kind: Event, note: hello, regarding: {name: p}, reportingController: c, eventTime: null, deprecatedCount: 2, deprecatedSource: {host: h}}`,
			to:       &corev1.Event{},
			path:     "",
			want:     `{metadata: {}, message: hello, involvedObject: {name: p}, reportingComponent: c, reportingInstance: "", eventTime: null, count: 2, source: {host: h}, firstTimestamp: null, lastTimestamp: null}`,
		},
		{
			name:     "an event of the core group",
			reason:   "and back",
			manifest: `{apiVersion: v1, kind: Event, message: hello, involvedObject: {name: p}, source: {component: c}, series: {count: 2}}`,
			to:       &eventsv1.Event{},
			path:     "",
			want:     `{metadata: {}, note: hello, regarding: {name: p}, deprecatedSource: {component: c}, series: {count: 2, lastObservedTime: null}, eventTime: null, deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null}`,
		},
		{
			name:     "an ingress",
			reason:   "backend, serviceName and servicePort have new names",
			manifest: `{apiVersion: extensions/v1beta1, kind: Ingress, spec: {backend: {serviceName: a, servicePort: http}, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {serviceName: b, servicePort: 80}}]}}]}}`,
			to:       &networkingv1.Ingress{},
			path:     "spec",
			want:     `{defaultBackend: {service: {name: a, port: {name: http}}}, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: b, port: {number: 80}}}}]}}]}`,
		},
		{
			name:     "an ingress to a resource",
			reason:   "a backend that is no service has none in any version",
			manifest: `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {resource: {kind: k, name: bucket}}}}`,
			to:       &networkingv1beta1.Ingress{},
			path:     "spec.backend",
			want:     `{resource: {apiGroup: null, kind: k, name: bucket}, servicePort: 0}`,
		},
		{
			name:     "a budget for nothing",
			reason:   "an empty selector selects nothing in v1beta1",
			manifest: `{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, spec: {selector: {}}}`,
			to:       &policyv1.PodDisruptionBudget{},
			path:     "spec.selector",
			want:     `{matchExpressions: [{key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: Exists}]}`,
		},
		{
			name:     "a budget for everything",
			reason:   "an empty selector selects everything in v1",
			manifest: `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {selector: {}}}`,
			to:       &policyv1beta1.PodDisruptionBudget{},
			path:     "spec.selector",
			want:     `{matchExpressions: [{key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: DoesNotExist}]}`,
		},
		{
			name:     "an endpoint's topology",
			reason:   "zone and node are fields in v1; another host name than the node's stays a label",
			manifest: `{apiVersion: discovery.k8s.io/v1beta1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [], nodeName: n1, topology: {kubernetes.io/hostname: h1, topology.kubernetes.io/zone: z, rack: r}}]}`,
			to:       &discoveryv1.EndpointSlice{},
			path:     "endpoints.0",
			want:     `{addresses: [], conditions: {}, nodeName: n1, zone: z, deprecatedTopology: {kubernetes.io/hostname: h1, rack: r}}`,
		},
		{
			name:     "an endpoint's node and zone",
			reason:   "both are in the topology of v1beta1",
			manifest: `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [], nodeName: n1, zone: z}]}`,
			to:       &discoveryv1beta1.EndpointSlice{},
			path:     "endpoints.0",
			want:     `{addresses: [], conditions: {}, nodeName: n1, topology: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: z}}`,
		},
		{
			name:     "assured shares",
			reason:   "they are called nominal since v1beta3",
			manifest: `{apiVersion: flowcontrol.apiserver.k8s.io/v1beta2, kind: PriorityLevelConfiguration, spec: {type: Limited, limited: {assuredConcurrencyShares: 5}}}`,
			to:       &flowcontrolv1.PriorityLevelConfiguration{},
			path:     "spec.limited.nominalConcurrencyShares",
			want:     `5`,
		},
		{
			name:     "shares of zero",
			reason:   "in v1beta3 an annotation says that they are meant",
			manifest: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, spec: {type: Limited, limited: {nominalConcurrencyShares: 0}}}`,
			to:       &flowcontrolv1beta3.PriorityLevelConfiguration{},
			path:     "metadata.annotations",
			want:     `{flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: ""}`,
		},
		{
			name:     "a device request",
			reason:   "what it asks for itself is under exactly in v1",
			manifest: `{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, spec: {devices: {requests: [{name: r, deviceClassName: c, count: 2}, {name: s, firstAvailable: [{name: t, deviceClassName: d}]}]}}}`,
			to:       &resourcev1.ResourceClaim{},
			path:     "spec.devices.requests",
			want:     `[{name: r, exactly: {deviceClassName: c, count: 2}}, {name: s, firstAvailable: [{name: t, deviceClassName: d}]}]`,
		},
		{
			name:     "everybody",
			reason:   "only v1alpha1 takes the user * for every authenticated one",
			manifest: `{apiVersion: rbac.authorization.k8s.io/v1alpha1, kind: RoleBinding, subjects: [{kind: User, name: "*"}, {kind: Thing, name: t, apiVersion: example.com/v1}], roleRef: {}}`,
			to:       &rbacv1.RoleBinding{},
			path:     "subjects",
			want:     `[{kind: Group, name: "system:authenticated", apiGroup: rbac.authorization.k8s.io}, {kind: Thing, name: t, apiGroup: example.com}]`,
		},
		{
			name:     "a list",
			reason:   "it keeps its own metadata, and has each item converted",
			manifest: `{apiVersion: extensions/v1beta1, kind: DaemonSetList, metadata: {resourceVersion: "9"}, items: [{metadata: {name: d}, spec: {templateGeneration: 2, template: {}}}]}`,
			to:       &appsv1.DaemonSetList{},
			path:     "items.0.metadata",
			want:     `{name: d, annotations: {deprecated.daemonset.template.generation: "2"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := decode(t, s, c.manifest)
			out := c.to.DeepCopyObject()
			if err := s.Convert(in, out, nil); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := yaml.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, at(asMap(t, out), c.path)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestConvertOverwrites checks that a conversion sets every field of its result, even if the result was not empty. The
// admission chain converts a webhook's object back into the object that it already has.
func TestConvertOverwrites(t *testing.T) {
	t.Parallel()
	s := builtin.Table().Scheme()
	for _, c := range []struct {
		name, reason string
		in, out      runtime.Object
	}{
		{
			name:   "the same type",
			reason: "the hub's types are those of a version too",
			in:     decode(t, s, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: new}, spec: {template: {}}}`),
			out:    decode(t, s, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: old, labels: {a: b}}, spec: {template: {}}}`),
		},
		{
			name:   "another version",
			reason: "nothing of what was there before is left",
			in:     decode(t, s, `{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: new}, spec: {template: {}}}`),
			out:    decode(t, s, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: old, labels: {a: b}}, spec: {template: {}}}`),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := s.Convert(c.in, c.out, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(any(map[string]any{"name": "new"}), at(asMap(t, c.out), "metadata")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if got := c.out.GetObjectKind().GroupVersionKind(); got != appsv1.SchemeGroupVersion.WithKind("Deployment") {
				t.Errorf("the converted object calls itself %v", got)
			}
		})
	}
}

// TestConvertKeepsWhatAVersionLacks checks that a conversion keeps the fields that the source version lacks. The
// admission chain depends on that.
func TestConvertKeepsWhatAVersionLacks(t *testing.T) {
	t.Parallel()
	s := builtin.Table().Scheme()
	hub := decode(t, s, `{apiVersion: certificates.k8s.io/v1beta1, kind: PodCertificateRequest, metadata: {name: r}, spec: {podName: old, pkixPublicKey: a2V5, stubPKCS10Request: b2xk}}`)
	v1 := decode(t, s, `{apiVersion: certificates.k8s.io/v1, kind: PodCertificateRequest, metadata: {name: r}, spec: {podName: new}}`)
	if err := s.Convert(v1, hub, nil); err != nil {
		t.Fatal(err)
	}
	spec := at(asMap(t, hub), "spec").(map[string]any)
	for field, want := range map[string]any{"podName": "new", "pkixPublicKey": "a2V5", "stubPKCS10Request": nil} {
		if diff := cmp.Diff(want, spec[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}

func decode(t *testing.T, s *runtime.Scheme, manifest string) runtime.Object {
	t.Helper()
	obj, _, err := json.NewSerializerWithOptions(json.DefaultMetaFactory, s, s, json.SerializerOptions{Yaml: true, Strict: true}).
		Decode([]byte(manifest), nil, nil)
	if err != nil {
		t.Fatalf("decoding %s: %v", manifest, err)
	}
	return obj
}

// at returns the value at a path of fields and list indices, such as "items.0.spec".
func at(v any, path string) any {
	if path == "" {
		return v
	}
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			v = x[step[0]-'0']
		default:
			return nil
		}
	}
	return v
}
