package validation

// The lifetime of a token, in seconds.
const (
	mostTokenLifetime = 1 << 32
)
