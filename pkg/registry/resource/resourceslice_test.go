package resource

import (
	"slices"
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
	slice := func(change func(*resourcev1.ResourceSliceSpec)) *resourcev1.ResourceSlice {
		s := &resourcev1.ResourceSlice{ObjectMeta: registrytest.ClusterStored("s"), Spec: resourcev1.ResourceSliceSpec{
			Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, AllNodes: ptr.To(true),
		}}
		change(&s.Spec)
		return s
	}
	tainted := func() *resourcev1.ResourceSlice {
		return slice(func(s *resourcev1.ResourceSliceSpec) {
			s.Devices = []resourcev1.Device{{Name: "a", Taints: slices.Repeat([]resourcev1.DeviceTaint{{Key: "-", Effect: "NoExecute"}}, 17)}}
		})
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "counters", Reason: "a device names each set of counters once",
			Object: &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
				Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, AllNodes: ptr.To(true),
				Devices: []resourcev1.Device{{Name: "a", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"a/b/c": {BoolValue: ptr.To(true)}},
					BindingConditions: []string{"Ready", "a/b/c"}, BindingFailureConditions: []string{"A", "B", "C", "D", "E"},
					ConsumesCounters: []resourcev1.DeviceCounterConsumption{
						{CounterSet: "s", Counters: map[string]resourcev1.Counter{"c": {}}},
						{CounterSet: "s", Counters: map[string]resourcev1.Counter{"c": {}}}}}},
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
			},
		},
		{
			Name:   "partitions",
			Reason: "each partition has a type, in an attribute of the driver's domain or of the whole name",
			Gates:  []string{"DRAPartitionableDevicesType", "DRAResourcePoolStatus"},
			Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.PartitionTypeAttribute = ptr.To[resourcev1.FullyQualifiedName]("d.e/profile")
				partition := func(name string, attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute) resourcev1.Device {
					return resourcev1.Device{Name: name, Attributes: attributes,
						ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "s", Counters: map[string]resourcev1.Counter{"c": {}}}}}
				}
				s.Devices = []resourcev1.Device{
					{Name: "whole"},
					partition("a", map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"profile": {StringValue: ptr.To("small")}}),
					partition("b", map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"d.e/profile": {StringValue: ptr.To("small")}}),
					partition("c", map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"other": {StringValue: ptr.To("small")}}),
					partition("d", map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"profile": {IntValue: ptr.To[int64](1)}}),
				}
			}),
			Want: []string{
				"spec.devices[3].attributes[d.e/profile]: Required value: device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set",
				`spec.devices[4].attributes[d.e/profile]: Invalid value: {"IntValue":1,"BoolValue":null,"StringValue":null,"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: ` +
					"must be a string value because `partitionTypeAttribute` names this attribute",
			},
		},
		{
			Name: "skipped operations", Reason: "what is prepared on a node is also unprepared there",
			Gates: []string{"DRAOptionalNodeOperations"},
			Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.SkipNodeOperations = []resourcev1.SkipNodeOperation{resourcev1.SkipNodeOperationNodePrepareResources}
			}),
			Want: []string{`spec.skipNodeOperations: Invalid value: ["NodePrepareResources"]: NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped`},
		},
		{
			Name: "nodes of a slice", Reason: "slices of several selectors couldn't be used together", Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.AllNodes, s.NodeSelector = nil, &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 2)}
			}),
			Want: []string{`spec.nodeSelector.nodeSelectorTerms: Invalid value: [{"MatchExpressions":null,"MatchFields":null},{"MatchExpressions":null,"MatchFields":null}]: must have exactly one node selector term`},
		},
		{
			Name: "no node", Reason: "an empty name is no way to select nodes", Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.AllNodes, s.NodeName = nil, ptr.To("")
			}),
			Want: []string{
				`spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string`,
				"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required",
			},
		},
		{
			Name: "no node of a device", Reason: "the errors about nodes come before those about binding conditions", Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.AllNodes, s.PerDeviceNodeSelection = nil, ptr.To(true)
				s.Devices = []resourcev1.Device{{Name: "a", NodeName: ptr.To(""), BindingConditions: []string{"A"}}}
			}),
			Want: []string{
				`spec.devices[0].nodeName: Invalid value: "": must not be empty`,
				"spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
				"spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions",
			},
		},
		{
			Name: "nodes of a device", Reason: "the slice already selects the nodes, and one error is about all fields", Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.Devices = []resourcev1.Device{{Name: "a", NodeName: ptr.To("n"), AllNodes: ptr.To(true)}}
			}),
			Want: []string{"spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"},
		},
		{
			Name: "names of attributes and capacities", Reason: "the error about a key is at the map", Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.Devices = []resourcev1.Device{{Name: "a",
					Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"/a": {BoolValue: ptr.To(true)}},
					Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"d.e/": {}, "-": {}},
				}}
			}),
			Want: []string{
				`spec.devices[0].attributes: Invalid value: "": the domain must not be empty`,
				`spec.devices[0].capacity: Invalid value: "-": a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' ` +
					`(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')`,
				`spec.devices[0].capacity: Invalid value: "": the name must not be empty`,
			},
		},
		{
			Name: "devices and counters", Reason: "a slice of a pool has one of them", Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.Devices, s.SharedCounters = []resourcev1.Device{{Name: "a"}}, []resourcev1.CounterSet{{Name: "c", Counters: map[string]resourcev1.Counter{"c": {}}}}
			}),
			Want: []string{"spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"},
		},
		{
			Name: "many devices", Reason: "a long list isn't checked item by item", Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.Devices = make([]resourcev1.Device, 129)
			}),
			Want: []string{"spec.devices: Too many: 129: must have at most 128 items"},
		},
		{
			Name: "many taints", Reason: "a long list isn't checked item by item", Object: tainted(),
			Want: []string{"spec.devices[0].taints: Too many: 17: must have at most 16 items"},
		},
		{
			Name: "stored taints", Reason: "taints that an older server accepted stay valid",
			Object: tainted(), Old: tainted(),
		},
		{
			Name: "same devices", Reason: "the duplicates come after the errors about single devices", Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.Devices = []resourcev1.Device{{Name: "a"}, {Name: "a"}, {Name: "-"}}
			}),
			Want: []string{`spec.devices[2].name: Invalid value: "-": ` + notLabel, `spec.devices[1]: Duplicate value: "a"`},
		},
		{
			Name: "update", Reason: "the driver publishes a new slice for another pool",
			Object: slice(func(s *resourcev1.ResourceSliceSpec) {
				s.Driver, s.Pool.Name, s.NodeName, s.PerDeviceNodeSelection = "e.f", "q", ptr.To("n"), ptr.To(false)
			}),
			Old: slice(func(*resourcev1.ResourceSliceSpec) {}),
			Want: []string{
				`spec.pool.name: Invalid value: "q": field is immutable`,
				`spec.driver: Invalid value: "e.f": field is immutable`,
				`spec.nodeName: Invalid value: "n": field is immutable`,
				"spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true",
				"spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set",
			},
		},
	})
}
