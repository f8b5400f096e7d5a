package pod

// ofStatuses are fields of the status of a pod's containers of every type.
func ofStatuses(path string) []string {
	return []string{
		"Status.InitContainerStatuses." + path, "Status.ContainerStatuses." + path, "Status.EphemeralContainerStatuses." + path,
	}
}
