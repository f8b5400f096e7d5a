package faults

import (
	"encoding/json"
	"strconv"
)

// Fault is a fault in the form in which users write it: its fields are the keys of files, of flags and of requests to
// [Path].
//
// The fields up to Share say which requests meet the fault. An empty field selects all, and a list selects a value that
// matches one of its elements, in which * stands for any text. A fault with Webhooks is for the server's calls of
// admission webhooks; its other fields then select the requests for which the webhooks are called. A fault has an effect
// besides its latency, or a latency alone.
type Fault struct {
	// Name is the name of the fault. By default, it is flag-1, file-2 or request-3: where the fault comes from, and its
	// place there.
	Name string `json:"name,omitempty"`

	// Verbs are verbs of the API: get, list, watch, create, update, patch, delete, deletecollection. By default, they are
	// those that the effect is for.
	Verbs []string `json:"verbs,omitempty"`
	// Resources are plural names with or without their group and subresource: pods, deployments.apps, pods/status,
	// pods/*. Of a resource without a subresource, subresources aren't selected.
	Resources []string `json:"resources,omitempty"`
	// Namespaces and Names are those of objects. The name of an object that is created is the one in the request's body.
	Namespaces []string `json:"namespaces,omitempty"`
	Names      []string `json:"names,omitempty"`
	// Users are names of users, after impersonation. UserAgents are the values of the header User-Agent.
	Users      []string `json:"users,omitempty"`
	UserAgents []string `json:"userAgents,omitempty"`
	// Paths are paths that aren't those of a resource, such as /version and /apis/*. A fault without Paths is for
	// resources alone.
	Paths []string `json:"paths,omitempty"`
	// Webhooks are names of admission webhooks, with or without that of their configuration: pods.example.com,
	// my-configuration/pods.example.com.
	Webhooks []string `json:"webhooks,omitempty"`
	// Requests are numbers of selected requests, from 1: 3, 2-5, 4-, 1,3,5. By default, they are all.
	Requests Numbers `json:"requests,omitempty"`
	// Share is the share of these requests that meets the fault, more than 0 and at most 1. By default, it is 1.
	Share float64 `json:"share,omitempty"`

	// Latency is the time that passes before the request is served or the webhook is called: a duration such as 200ms, a
	// range 100ms..300ms with every duration alike, a mean and its standard deviation 200ms+-50ms, or ~200ms, the mean of
	// an exponential distribution.
	Latency string `json:"latency,omitempty"`
	// Status is the code of the response instead of the request's own: 400 to 599. Reason, Message and RetryAfter, in
	// whole seconds, are those of the response; the default reason and message are those of the code.
	Status     int    `json:"status,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"`
	// Conflict refuses an update, a patch or a deletion as if the object had been modified.
	Conflict bool `json:"conflict,omitempty"`
	// Timeout answers that the time for the request has run out. A webhook doesn't answer until its own timeout.
	Timeout bool `json:"timeout,omitempty"`
	// Reset ends the request without a response: "stream" ends its HTTP/2 stream, or its HTTP/1.1 connection, and
	// "connection" resets the connection, with all requests on it.
	Reset string `json:"reset,omitempty"`
	// Truncate is the number of bytes of the response's body after which the stream is reset.
	Truncate *int `json:"truncate,omitempty"`
	// Close ends a watch as a server does when the time of a watch is over. Expire ends it with the ERROR event of an
	// expired resource version, 410. Both come after the number of events in After. With an After of 0 both end the
	// watches that are open when the fault is added, too.
	Close  bool `json:"close,omitempty"`
	Expire bool `json:"expire,omitempty"`
	After  int  `json:"after,omitempty"`
	// Stale answers a list with what was stored earlier: "frozen" is the moment at which the fault was added, -3 is three
	// writes before the request, of any object, and 1234 is that resource version.
	Stale string `json:"stale,omitempty"`
	// Refuse refuses the connection to a webhook.
	Refuse bool `json:"refuse,omitempty"`
	// WrongUID changes the uid in the response of a webhook.
	WrongUID bool `json:"wrongUID,omitempty"`
	// BadPatch puts a patch into the response of a webhook that can't be applied to any object.
	BadPatch bool `json:"badPatch,omitempty"`
	// Executed serves the request, or calls the webhook, before the response is replaced: the client can't know that its
	// write took effect.
	Executed bool `json:"executed,omitempty"`
}

// Numbers are numbers of requests; see Fault.Requests. A file may have a plain number.
type Numbers string

// UnmarshalJSON implements json.Unmarshaler.
func (n *Numbers) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*n = Numbers(text)
		return nil
	}
	number, err := strconv.ParseUint(string(data), 10, 64)
	*n = Numbers(data)
	if err == nil && number == 0 {
		return nil // the validation explains it
	}
	return err
}
