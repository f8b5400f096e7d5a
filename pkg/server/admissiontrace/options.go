package admissiontrace

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// Options are the flags for the recorder of requests.
type Options struct {
	recorder.Limits
	// ExplainDenials extends the errors of refused requests: each error also says which part of admission refused the
	// request.
	ExplainDenials bool
}

// explainedRequests is the number of requests that the recorder keeps with ExplainDenials, unless --trace-requests
// gives a number.
const explainedRequests = 100

// NewOptions returns options that record requests only while a client follows them.
func NewOptions() *Options { return &Options{Limits: recorder.Limits{Bytes: recorder.DefaultBytes}} }

// AddFlags adds the flags of the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.Requests, "trace-requests", o.Requests,
		"Remember what admission did with the last `N` requests, for \"miniapi trace\". With 0, requests are recorded only while \"miniapi trace --follow\" runs.")
	flags.Int64Var(&o.Bytes, "trace-bytes", o.Bytes,
		"Approximate memory for --trace-requests, in `BYTES`. Beyond it, the server forgets the oldest requests.")
	flags.BoolVar(&o.Secrets, "trace-secrets", o.Secrets,
		"Remember the contents of Secrets and tokens with --trace-requests. By default they are replaced by \""+trace.Redacted+"\".")
	flags.BoolVar(&o.Branches, "trace-branches", o.Branches,
		"Remember with --trace-requests how the conditions within the expressions of policies were evaluated, such as the operands of && and ||.")
	flags.BoolVar(&o.ExplainDenials, "explain-denials", o.ExplainDenials,
		fmt.Sprintf("If admission refuses a request, add to the error the webhook, policy or plugin that refused it, the rule, and the round. Remembers the last %d requests unless --trace-requests says how many.", explainedRequests))
}

// Validate returns the errors of the options. Each error names its flag.
func (o *Options) Validate() []error {
	var errs []error
	if o.Requests < 0 {
		errs = append(errs, fmt.Errorf("--trace-requests %d: must be at least 0", o.Requests))
	}
	if o.Bytes <= 0 {
		errs = append(errs, fmt.Errorf("--trace-bytes %d: must be more than 0", o.Bytes))
	}
	for flag, given := range map[string]bool{"--trace-secrets": o.Secrets, "--trace-branches": o.Branches} {
		if given && o.Requests == 0 && !o.ExplainDenials {
			errs = append(errs, fmt.Errorf("%s: give --trace-requests too, the number of requests that the server remembers", flag))
		}
	}
	return errs
}

// Explain returns the function that extends the errors of refused requests, or nil without ExplainDenials.
func (o *Options) Explain() admission.Explain {
	if !o.ExplainDenials {
		return nil
	}
	return explainDenial
}

// Recorder returns a recorder with the options' limits. If ExplainDenials is set and Limits.Requests is 0, the recorder
// keeps 100 requests.
func (o *Options) Recorder() *recorder.Recorder {
	limits := o.Limits
	if limits.Requests == 0 && o.ExplainDenials {
		limits.Requests = explainedRequests
	}
	return recorder.New(limits)
}
