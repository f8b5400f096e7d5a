package autoscaling

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestAutoscalersToZero checks which autoscalers may scale to zero (KEP-2021).
func TestAutoscalersToZero(t *testing.T) {
	t.Parallel()
	cpu := autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: "cpu", Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](80)},
	}}
	one := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: ptr.To(resource.MustParse("1"))}
	queue := autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "queue"}, Target: one,
	}}
	requests := autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: autoscalingv2.CrossVersionObjectReference{Kind: "Service", Name: "s"},
		Metric:          autoscalingv2.MetricIdentifier{Name: "requests"}, Target: one,
	}}
	for _, test := range []struct {
		name, reason string
		least        int32
		metrics      []autoscalingv2.MetricSpec
		want         []string
	}{
		{"by its pods", "a metric of pods has no value without pods, so the autoscaler would never add pods", 0, []autoscalingv2.MetricSpec{cpu},
			[]string{"spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"}},
		{"by a queue", "a queue may fill while there are no pods", 0, []autoscalingv2.MetricSpec{cpu, queue}, nil},
		{"by an object", "a metric of an object has a value without pods", 0, []autoscalingv2.MetricSpec{requests}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: registrytest.Stored("h"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
				MinReplicas:    &test.least, MaxReplicas: 2, Metrics: test.metrics,
			}}
			registrytest.WantErrors(t, test.reason, validateHorizontalPodAutoscaler(h), test.want...)
		})
	}
}

func TestAutoscalerGeneration(t *testing.T) {
	t.Parallel()
	table := registrytest.Table(t, Group)
	created := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: registrytest.Generation(7)}
	registrytest.Strategy(t, table, created).PrepareForCreate(t.Context(), created)
	if created.Generation != 1 {
		t.Errorf("a new autoscaler has the generation %d, want 1", created.Generation)
	}
	registrytest.CheckGenerations(t, table, []registrytest.GenerationCase{{
		Name: "limit", Reason: "the desired state has changed",
		Object: &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 2}},
		Old:    created, Want: 2,
	}})
}

func TestReferencesOfAutoscalers(t *testing.T) {
	t.Parallel()
	spec := func(kind, apiVersion string, described ...string) autoscalingv2.HorizontalPodAutoscalerSpec {
		s := autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: kind, Name: "d"}, MaxReplicas: 2,
		}
		for _, apiVersion := range described {
			s.Metrics = append(s.Metrics, autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
				DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: "Service", Name: "s"},
				Metric:          autoscalingv2.MetricIdentifier{Name: "requests"},
				Target:          autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: ptr.To(resource.MustParse("1"))},
			}})
		}
		return s
	}
	const noGroup = `spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group`
	deployment := spec("Deployment", "apps/v1")
	for _, test := range []struct {
		name, reason string
		old          *autoscalingv2.HorizontalPodAutoscalerSpec
		spec         autoscalingv2.HorizontalPodAutoscalerSpec
		want         []string
	}{
		{"target without a group", "the autoscaler's controller needs the group to find the target", nil,
			spec("Deployment", ""), []string{noGroup}},
		{"replication controller", "the core group has no name", nil, spec("ReplicationController", "v1"), nil},
		{"target without a group as before", "older autoscalers stay changeable", ptr.To(spec("Deployment", "")),
			spec("Deployment", ""), nil},
		{"target without a group any more", "the reference is changed", &deployment, spec("Deployment", ""), []string{noGroup}},
		{"object of the core group", "objects of metrics needn't scale", nil, spec("Deployment", "apps/v1", "v1", ""), nil},
		{"object of a wrong version", "no object has a malformed apiVersion", nil, spec("Deployment", "apps/v1", "a/b/c"),
			[]string{`spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`}},
		{"object of a wrong version as before", "older autoscalers stay changeable", ptr.To(spec("Deployment", "apps/v1", "a/b/c")),
			spec("Deployment", "apps/v1", "v1", "d/e/f"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, test.reason, autoscalerSpec(&test.spec, test.old), test.want...)
		})
	}
}

func TestHorizontalPodAutoscalerColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "three metrics", Reason: "the cell shows two metrics as value and target, and the number of further metrics",
			Object: &autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "d"}, MaxReplicas: 9,
					Metrics: []autoscalingv2.MetricSpec{
						{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
							Name: "cpu", Target: autoscalingv2.MetricTarget{AverageUtilization: ptr.To[int32](80)},
						}},
						{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
							Target: autoscalingv2.MetricTarget{AverageValue: ptr.To(resource.MustParse("5"))},
						}},
						{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{}},
					},
				},
				Status: autoscalingv2.HorizontalPodAutoscalerStatus{CurrentReplicas: 2, CurrentMetrics: []autoscalingv2.MetricStatus{
					{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
						Current: autoscalingv2.MetricValueStatus{AverageUtilization: ptr.To[int32](30)},
					}},
				}},
			},
			Want: []any{"x", "Deployment/d", "cpu: 30%/80%, <unknown>/5 (avg) + 1 more...", "<unset>", int64(9), int64(2), "30d"},
		},
	})
}

func TestHorizontalPodAutoscalerErrors(t *testing.T) {
	t.Parallel()
	autoscaler := func(most int32, metrics ...autoscalingv2.MetricSpec) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: registrytest.Stored("h"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
			MaxReplicas:    most, Metrics: metrics,
		}}
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "no limit", Reason: "the limit has no default", Object: autoscaler(0),
			Want: []string{"spec.maxReplicas: Required value"},
		},
		{
			Name: "negative generation", Reason: "a controller has observed no such generation", Status: true, Old: autoscaler(1),
			Object: func() *autoscalingv2.HorizontalPodAutoscaler {
				h := autoscaler(1)
				h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{ObservedGeneration: ptr.To[int64](-1)}}
				return h
			}(),
			Want: []string{"status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to 0"},
		},
		{
			Name: "negative limit", Reason: "the target keeps a pod", Object: autoscaler(-1),
			Want: []string{"spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1"},
		},
		{
			Name: "average of zero", Reason: "the value is there, so it isn't missing, too",
			Object: autoscaler(1, autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "m"},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
					AverageValue: ptr.To(resource.MustParse("0"))},
			}}),
			Want: []string{`spec.metrics[0].pods.target.averageValue: Invalid value: "0": must be positive`},
		},
		{
			Name: "resource of a container", Reason: "no container can request the resource, or have the name",
			Object: autoscaler(1, autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: "pods", Container: "A",
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](1)},
			}}),
			Want: []string{
				`spec.metrics[0].containerResource.name: Invalid value: "pods": must be a standard resource for containers`,
				`spec.metrics[0].containerResource.container: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and ` +
					`must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
			},
		},
		{
			Name: "metric", Reason: "a metric has the source of its type",
			Object: &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: registrytest.Stored("h"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
				MinReplicas:    ptr.To[int32](3), MaxReplicas: 2,
				Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.PodsMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu",
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType}}}}}},
			Want: []string{
				"spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`",
				"spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
				"spec.metrics[0].pods: Required value: must populate information for the given metric source",
			},
		},
	})
}

func TestHorizontalPodAutoscalerDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "behavior",
			Reason:   "a behavior for one direction sets the defaults of both",
			Manifest: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {behavior: {scaleDown: {selectPolicy: Min}}}}`,
			Path:     "spec.behavior",
			Want: `
scaleUp: {selectPolicy: Max, stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]}
scaleDown: {selectPolicy: Min, policies: [{type: Percent, value: 100, periodSeconds: 15}]}
`,
		},
	})
}
