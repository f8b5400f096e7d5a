package resource

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestResourceSliceWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "upper case", Reason: "names of drivers are compared with case",
			Object: &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: "GPU.example.com"}},
			Want:   []string{`spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters`},
		},
	})
}

func TestResourceSliceErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "counters", Reason: "a device names each set of counters once",
			Object: &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, AllNodes: ptr.To(true),
				Devices: []resourcev1.Device{{Name: "a", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"a/b/c": {BoolValue: ptr.To(true)}},
					BindingConditions: []string{"Ready", "a/b/c"}, BindingFailureConditions: []string{"A", "B", "C", "D", "E"},
					ConsumesCounters: []resourcev1.DeviceCounterConsumption{
						{CounterSet: "s", Counters: map[string]resourcev1.Counter{"c": {}}}, {CounterSet: "s", Counters: map[string]resourcev1.Counter{"c": {}}}}}},
			}},
			Want: []string{
				`spec.devices[0].bindingConditions[1]: Invalid value: "a/b/c": ` + notQualified,
				`spec.devices[0].consumesCounters[1]: Duplicate value: {"counterSet":"s","counters":{"c":{"value":"0"}}}`,
				"spec.devices[0].bindingFailureConditions: Too many: 5: must have at most 4 items",
			},
		},
		{
			Name: "devices", Reason: "a version is a semantic version, and a device has one way to select its nodes",
			Object: &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, PerDeviceNodeSelection: ptr.To(true),
				Devices: []resourcev1.Device{
					{Name: "a", NodeName: ptr.To("n"), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
						"driver": {VersionValue: ptr.To("1.2")}, "firmware": {VersionValue: ptr.To("1.2.3-rc.1+build")},
					}},
					{Name: "b", NodeName: ptr.To("n"), AllNodes: ptr.To(true)},
					{Name: "c", NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 2)}},
				},
			}},
			Want: []string{
				`spec.devices[0].attributes[driver].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0`,
				"spec.devices[1]: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
				`spec.devices[2].nodeSelector.nodeSelectorTerms: Invalid value: [{"MatchExpressions":null,"MatchFields":null},{"MatchExpressions":null,"MatchFields":null}]: must have exactly one node selector term`,
			},
		},
	})
}
