package scheduling

const (
	systemPriorityPrefix = "system-"
	maxUserPriority      = 1_000_000_000
)
