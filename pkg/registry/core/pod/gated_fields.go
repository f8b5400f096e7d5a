package pod

// ofStatuses returns the paths of fields in the statuses of a pod's containers of every type.
func ofStatuses(path string) []string {
	return []string{
		"Status.InitContainerStatuses." + path, "Status.ContainerStatuses." + path, "Status.EphemeralContainerStatuses." + path,
	}
}
