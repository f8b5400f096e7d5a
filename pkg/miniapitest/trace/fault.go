package trace

import "fmt"

// Fault is a fault that a server injected on purpose, for a test.
type Fault struct {
	// Name is the name of the fault.
	Name string `json:"name"`
	// Effect is the effect of the fault besides its latency, such as "conflict" or "status 503". It may be empty.
	Effect  string   `json:"effect,omitempty"`
	Latency Duration `json:"latency,omitempty"`
	// Number is the position of this request or call among all requests or calls that the fault selects, counted from 1.
	Number uint64 `json:"number"`
}

// String returns the fault in words, such as "fault slow: latency 731ms, status 503".
func (f Fault) String() string {
	text := "fault " + f.Name
	separator := ": "
	if f.Latency > 0 {
		text += separator + "latency " + f.Latency.String()
		separator = ", "
	}
	if f.Effect != "" {
		text += separator + f.Effect
	}
	return text
}

// faultLine returns the line of a timeline that shows a fault. The argument "of" names what the fault was injected
// into: "request", or "call" for a call of a webhook.
func faultLine(f Fault, of string) string {
	return fmt.Sprintf("%s, at %s %d of those that it selects", f, of, f.Number)
}
