package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Certificate is the certificate of a webhook that the server didn't accept.
type Certificate struct {
	Subject string `json:"subject,omitempty"`
	// Names are the host names and IP addresses that the certificate is for.
	Names    []string  `json:"names,omitempty"`
	Issuer   string    `json:"issuer"`
	NotAfter time.Time `json:"notAfter"`
	// Authorities are the subjects of the certificates in the caBundle. They are empty without a caBundle.
	Authorities []string `json:"authorities,omitempty"`
}

// String describes the certificate and the authorities that didn't verify it.
func (c *Certificate) String() string {
	names := "no name"
	if len(c.Names) > 0 {
		names = strings.Join(c.Names, ", ")
	}
	text := fmt.Sprintf("The webhook presented a certificate for %s, issued by %s, valid until %s", names, c.Issuer, c.NotAfter.UTC().Format(time.RFC3339))
	switch {
	case len(c.Authorities) == 0:
		return text + "; the configuration has no caBundle"
	case slices.Contains(c.Authorities, c.Issuer):
		return text + "; the caBundle has an authority of the same name: " + strings.Join(c.Authorities, ", ")
	}
	return text + "; the caBundle has the authority " + strings.Join(c.Authorities, ", ")
}

// maxAnswer is the largest number of bytes of a failed call's response in Call.Answer.
const maxAnswer = 1 << 10

// Fail records why a call failed: the error, and the body of the response if there is one.
func (c *Call) Fail(err *Error, body []byte) {
	c.Error = err
	if c.Outcome == Denied {
		return
	}
	c.Answer = strings.ToValidUTF8(string(body[:min(len(body), maxAnswer)]), "\uFFFD")
	c.Remedy = remedyFor(err.Message)
}

// MarshalJSON implements json.Marshaler. It adds the field "failure", what is known about a failed call in words.
func (c *Call) MarshalJSON() ([]byte, error) {
	type plain Call
	return json.Marshal(struct {
		*plain
		Failure []string `json:"failure,omitempty"`
	}{(*plain)(c), c.failure()})
}

// failure returns what is known about a failed call beside its error. It returns nil for a call that didn't fail.
func (c *Call) failure() []string {
	if c.Outcome != Failed && c.Outcome != FailedOpen {
		return nil
	}
	var facts []string
	if c.URL != "" {
		text := "No answer from " + c.URL
		if c.Status != 0 {
			text = fmt.Sprintf("%d from %s", c.Status, c.URL)
		}
		if c.Remote != "" {
			text += " at " + c.Remote
		}
		facts = append(facts, text)
	}
	if c.Certificate != nil {
		facts = append(facts, c.Certificate.String())
	}
	if c.Answer != "" {
		facts = append(facts, "The answer is "+shortened(c.Answer))
	}
	if c.Remedy != "" {
		facts = append(facts, "Remedy: "+c.Remedy)
	}
	return facts
}

// remedyFor returns the remedy for the error of a call, or "" if none is known.
func remedyFor(message string) string {
	for _, r := range Remedies {
		if matchesError(message, r.Error) {
			return r.Remedy
		}
	}
	return ""
}

// matchesError reports whether a message contains the parts of an error in their order. The parts are separated by "…".
func matchesError(message, err string) bool {
	for _, part := range strings.Split(err, "…") {
		_, after, found := strings.Cut(message, part)
		if !found {
			return false
		}
		message = after
	}
	return true
}
