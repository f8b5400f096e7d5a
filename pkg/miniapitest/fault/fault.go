// Package fault has the description of a fault that a server injects, for the fixture and for the server alike.
// docs/faults.md explains each field by its name in JSON. Don't use the package to inject faults: call Inject of
// miniapitest.Server, or run a server with --fault.
package fault

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Fault is a fault in the form in which users write it. Its fields are the keys in files, in flags and in
// requests to a server.
//
// The fields from Verbs to Share select the requests that meet the fault. A list selects a request if one of its
// elements matches. In all lists but Verbs, * stands for any text. An empty list other than Verbs and Paths selects all
// requests. A fault with Webhooks is for the server's calls of admission webhooks; the other fields then select the
// requests for which the webhooks are called. Besides its latency, a fault has at most one effect.
type Fault struct {
	// Name is the name of the fault. The default has the source of the fault and a number. flag-1 is the fault of the
	// first flag, and file-2 the second fault in the file. request-3 is the third fault without a name in all requests
	// that added faults.
	Name string `json:"name,omitempty"`

	// Verbs are verbs of the API: get, list, watch, create, update, patch, delete, deletecollection. By default, they
	// are all verbs that the effect can be used with. In a fault with Paths, they are HTTP methods in lower case.
	Verbs []string `json:"verbs,omitempty"`
	// Resources are plural names with or without group and subresource: pods, deployments.apps, pods/status, pods/*. A
	// name without a subresource doesn't select subresources.
	Resources []string `json:"resources,omitempty"`
	// Namespaces and Names are the namespaces and names of the requests' objects. For a create request without a name
	// in its path, the name is the name in the request's body.
	Namespaces []string `json:"namespaces,omitempty"`
	Names      []string `json:"names,omitempty"`
	// Users are names of users. A request with impersonation counts for the impersonated user. UserAgents are values of
	// the header User-Agent.
	Users      []string `json:"users,omitempty"`
	UserAgents []string `json:"userAgents,omitempty"`
	// Paths are paths of requests that aren't for resources, such as /version and /apis/*. A fault without Paths
	// selects only requests for resources.
	Paths []string `json:"paths,omitempty"`
	// Webhooks are names of admission webhooks, alone or after the name of their configuration: pods.example.com,
	// my-configuration/pods.example.com.
	Webhooks []string `json:"webhooks,omitempty"`
	// Requests are the numbers of the selected requests that the fault applies to, counted from 1: 3, 2-5, 4-, 1,3,5.
	// By default, the fault applies to all selected requests.
	Requests Numbers `json:"requests,omitempty"`
	// Share is the part of the selected requests that meets the fault, more than 0 and at most 1. Requests that the
	// field Requests leaves out don't count. By default, all selected requests meet the fault.
	Share Share `json:"share,omitempty"`

	// Latency is the time that passes before the request is served or the webhook is called. It is a duration (200ms),
	// a range with equally likely durations (100ms..300ms), a mean and a standard deviation (200ms+-50ms), or the mean
	// of an exponential distribution (~200ms).
	Latency string `json:"latency,omitempty"`
	// Status is the HTTP status code of the response, 400 to 599. Reason, Message and RetryAfter (a duration such as
	// 2s, in whole seconds) are further fields of the response; by default, Reason and Message follow from the code.
	Status     int    `json:"status,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"`
	// Conflict refuses an update, a patch or a deletion with the error Conflict (409), as if another client had
	// modified the object.
	Conflict bool `json:"conflict,omitempty"`
	// Timeout answers that the request has taken too long. A webhook with Timeout doesn't answer until its timeout
	// ends.
	Timeout bool `json:"timeout,omitempty"`
	// Reset breaks the response off. The value "stream" ends the request's HTTP/2 stream, or its HTTP/1.1 connection.
	// The value "connection" resets the connection, and so ends all requests on it.
	Reset string `json:"reset,omitempty"`
	// Truncate is the number of bytes of the response's body after which the response breaks off.
	Truncate *int `json:"truncate,omitempty"`
	// Close ends a watch as a server does when the time limit of the watch is reached. Expire ends a watch by an ERROR
	// event that says that the resource version has expired (410). Both end the watch after a number of events, given
	// by After. If After is 0, adding the fault also ends open watches.
	Close  bool `json:"close,omitempty"`
	Expire bool `json:"expire,omitempty"`
	After  int  `json:"after,omitempty"`
	// Stale answers a list with an earlier state: the state when the fault was added ("frozen"), the state three writes
	// of any object before the request (-3), or the state at a resource version (1234).
	Stale string `json:"stale,omitempty"`
	// Refuse refuses the connection to a webhook.
	Refuse bool `json:"refuse,omitempty"`
	// WrongUID puts a wrong uid into the response of a webhook.
	WrongUID bool `json:"wrongUID,omitempty"`
	// BadPatch replaces the patch in the response of a webhook by a patch that fails for every object.
	BadPatch bool `json:"badPatch,omitempty"`
	// Executed serves the request, or calls the webhook, before the fault replaces the response. So a write takes
	// effect although the client gets an error.
	Executed bool `json:"executed,omitempty"`
}

// Numbers are numbers of requests, such as 3, 2-5, 4- or 1,3,5. In a file, a single number may be a JSON number.
type Numbers string

// UnmarshalJSON implements json.Unmarshaler.
func (n *Numbers) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*n = Numbers(text)
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil {
		return fmt.Errorf("requests %s: must be a number, or text such as 2-5, 4- or 1,3", data)
	}
	*n = Numbers(number) // the validation of faults accepts only positive integers
	return nil
}

// Share is a part of requests: 0.1 is a tenth. In a file, it may also be text, such as 10%.
type Share float64

// UnmarshalJSON implements json.Unmarshaler. Zero is an error: a fault that no request meets is a mistake.
func (s *Share) UnmarshalJSON(data []byte) error {
	share, err := ParseShare(strings.Trim(string(data), `"`))
	*s = Share(share)
	return err
}

// ParseShare parses a share in the form 0.1 or 10%.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || math.IsNaN(share) || share <= 0 || share > 1 {
		return 0, fmt.Errorf("share %q: must be more than 0 and at most 1, or in per cent, as in 10%%", text)
	}
	return share, nil
}
