package resource

import "github.com/miniapi-dev/miniapi/pkg/registry"

// claimGates returns the gates of fields in the spec of a claim. The argument "spec" is the path of the spec in the type
// T. An alternative of a request is dropped before its fields, so the gate of alternatives comes first.
func claimGates[T any](spec string) []registry.Gate {
	return []registry.Gate{
		registry.GateOf[T]("DRAPrioritizedList", spec+".Devices.Requests.FirstAvailable"),
		registry.GateOf[T]("DRADeviceTaints", ofRequests(spec, "Tolerations")...),
		adminAccess[T](spec),
		consumableCapacity[T](spec),
		registry.GateOf[T]("DRADerivedAttributes", ofRequests(spec, "DerivedAttributes")...),
	}
}

func adminAccess[T any](spec string) registry.Gate {
	return registry.GateOf[T]("DRAAdminAccess", spec+".Devices.Requests.Exactly.AdminAccess")
}

func consumableCapacity[T any](spec string) registry.Gate {
	return registry.GateOf[T]("DRAConsumableCapacity", append(ofRequests(spec, "Capacity"), spec+".Devices.Constraints.DistinctAttribute")...)
}

// ofRequests returns the paths of a field in the requests of a claim, and in their alternatives.
func ofRequests(spec, path string) []string {
	return []string{spec + ".Devices.Requests.Exactly." + path, spec + ".Devices.Requests.FirstAvailable." + path}
}
