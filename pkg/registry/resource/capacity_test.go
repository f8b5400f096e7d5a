package resource

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestCapacities(t *testing.T) {
	t.Parallel()
	amount := func(text string) *apiresource.Quantity {
		if text == "" {
			return nil
		}
		return ptr.To(apiresource.MustParse(text))
	}
	among := func(usual string, amounts ...string) *resourcev1.CapacityRequestPolicy {
		p := &resourcev1.CapacityRequestPolicy{Default: amount(usual)}
		for _, text := range amounts {
			p.ValidValues = append(p.ValidValues, *amount(text))
		}
		return p
	}
	within := func(usual, least, most, step string) *resourcev1.CapacityRequestPolicy {
		return &resourcev1.CapacityRequestPolicy{Default: amount(usual),
			ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: amount(least), Max: amount(most), Step: amount(step)}}
	}
	both := within("1", "1", "", "")
	both.ValidValues = among("1", "1").ValidValues
	const path = "spec.devices[0].capacity[memory].requestPolicy"
	var cases []registrytest.WriteCase
	for _, tc := range []struct {
		name, reason string
		policy       *resourcev1.CapacityRequestPolicy
		want         []string
	}{
		{"any amount", "a policy may have only a default", among("1"), nil},
		{"amounts", "the default is one of the amounts", among("2", "1", "2"), nil},
		{"range", "the default and the end are whole steps above the begin", within("4", "2", "6", "2"), nil},
		{"amounts and range", "the scheduler needs one rule", both,
			[]string{path + `: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`}},
		{"amounts without a default", "a request may name no amount", among("", "1"),
			[]string{path + ".default: Required value: required when validValues is defined"}},
		{"range without a default", "a request may name no amount", within("", "1", "", ""),
			[]string{path + ".default: Required value: required when validRange is defined"}},
		{"wrong amounts", "the scheduler takes the first amount that suffices", among("3", "2", "1", "1", "9"), []string{
			path + `.validValues[1]: Invalid value: "1": values must be sorted in ascending order`,
			path + `.validValues[3]: Invalid value: "9": option is larger than capacity value: 8`,
			path + `.validValues[2]: Duplicate value: "1"`,
			path + `.validValues: Invalid value: "3": default value is not valid according to the requestPolicy`,
		}},
		{"many amounts", "as in kube-apiserver, the default isn't found in a long list", among("1", "1", "2", "3", "4", "5", "6", "7", "8", "8", "8", "8"), []string{
			path + ".validValues: Too many: 11: must have at most 10 items",
			path + `.validValues: Invalid value: "1": default value is not valid according to the requestPolicy`,
		}},
		{"range without a begin", "the steps begin there", within("1", "", "2", ""),
			[]string{path + ".validRange.min: Required value: required when validRange is defined"}},
		{"low range", "the default is in the range", within("5", "1", "4", ""),
			[]string{path + `.validRange.max: Invalid value: "5": default is more than max: 4`}},
		{"high range", "the range is in the capacity, and begins before it ends", within("1", "11", "10", ""), []string{
			path + `.validRange.min: Invalid value: "11": min is larger than capacity value: 8`,
			path + `.validRange.min: Invalid value: "1": default is less than min: 11`,
			path + `.validRange.max: Invalid value: "11": min is larger than max: 10`,
			path + `.validRange.max: Invalid value: "10": max is larger than capacity value: 8`,
		}},
		{"wrong step", "each amount is a whole number of steps above the begin", within("2", "1", "3", "9"), []string{
			path + `.validRange.step: Invalid value: "9": one step 10 is larger than capacity value: 8`,
			path + `.validRange.step: Invalid value: "2": value is not a multiple of a given step (9) from (1)`,
			path + `.validRange.step: Invalid value: "3": value is not a multiple of a given step (9) from (1)`,
		}},
		{"no step", "a division by zero isn't possible", within("1", "1", "", "0"),
			[]string{path + `.validRange.step: Invalid value: "0": must not be zero`}},
	} {
		cases = append(cases, registrytest.WriteCase{Name: tc.name, Reason: tc.reason, Object: sharedMemory(true, tc.policy), Want: tc.want})
	}
	cases = append(cases, registrytest.WriteCase{
		Name: "device of one request", Reason: "without shares, the request gets the whole capacity",
		Object: sharedMemory(false, among("1")),
		Want:   []string{path + ": Forbidden: allowMultipleAllocations must be true"},
	})
	registrytest.CheckErrors(t, registrytest.Table(t, Group), cases)
}

// sharedMemory returns a slice with a device that has 8 bytes of memory.
func sharedMemory(shared bool, policy *resourcev1.CapacityRequestPolicy) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, AllNodes: ptr.To(true),
		Devices: []resourcev1.Device{{Name: "a", AllowMultipleAllocations: &shared, Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
			"memory": {Value: apiresource.MustParse("8"), RequestPolicy: policy},
		}}},
	}}
}
