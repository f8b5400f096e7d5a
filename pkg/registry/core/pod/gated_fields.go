package pod

// ofStatuses returns the paths of fields in all container statuses of a pod.
func ofStatuses(path string) []string {
	return []string{
		"Status.InitContainerStatuses." + path, "Status.ContainerStatuses." + path, "Status.EphemeralContainerStatuses." + path,
	}
}
