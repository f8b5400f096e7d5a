package faults

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// Options are the flags of faults. The zero value has no faults.
type Options struct {
	// Faults are faults in the form that ParseText parses.
	Faults []string
	// File is the path of a File in YAML or JSON. The server reads the file again when it changes.
	File string
	// Seed is the seed of the random choices: the requests that faults with Share select, and the random latencies.
	Seed uint64
}

// AddFlags adds the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.Faults, "fault", o.Faults,
		"Inject a `FAULT` into the server's answers or its calls of webhooks, as in verbs=update,resources=pods,requests=3,conflict or webhooks=*,latency=2s. May be repeated.")
	flags.StringVar(&o.File, "fault-file", o.File,
		"Inject the faults of this `FILE`, in YAML. The file is read again when it changes.")
	flags.Uint64Var(&o.Seed, "fault-seed", o.Seed,
		"`SEED` of the random choices: which requests meet a fault with a share, and random latencies. The same seed makes the same choices.")
}

// Validate returns the errors of the flags, and the errors of the file. It doesn't read a file that is a pipe. Each error
// names the flag.
func (o *Options) Validate() []error {
	var errs []error
	var faults []Fault
	for _, text := range o.Faults {
		f, err := ParseText(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--fault %q: %w", text, err))
		}
		faults = append(faults, f)
	}
	if err := distinct(faults); err != nil {
		errs = append(errs, fmt.Errorf("--fault: %w", err))
	}
	if info, err := os.Stat(o.File); o.File != "" && (err != nil || info.Mode().IsRegular()) {
		// Validate reads only a regular file. A pipe can be read only once, and Begin must read it.
		if _, _, err := o.read(); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// read returns the faults of the file, and the content of the file.
func (o *Options) read() ([]Fault, []byte, error) {
	data, err := os.ReadFile(o.File)
	var faults []Fault
	if err == nil {
		faults, err = Parse(data)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--fault-file %s: %w", o.File, err)
	}
	return faults, data, nil
}

// Begin puts the faults of the flags and of the file in force. It returns the file for package reload, which applies
// later changes of the file. Without a file, it returns nil.
func (i *Injector) Begin(ctx context.Context, o *Options) (*reload.File, error) {
	var faults []Fault
	for _, text := range o.Faults {
		f, err := ParseText(text)
		if err != nil {
			return nil, fmt.Errorf("--fault %q: %w", text, err)
		}
		faults = append(faults, f)
	}
	if len(faults) > 0 {
		if _, err := i.rules.add(ctx, faults, fromFlags); err != nil {
			return nil, fmt.Errorf("--fault: %w", err)
		}
	}
	if o.File == "" {
		return nil, nil
	}
	faults, data, err := o.read()
	if err != nil {
		return nil, err
	}
	if err := i.rules.replace(ctx, faults, fromFile); err != nil {
		return nil, fmt.Errorf("--fault-file %s: %w", o.File, err)
	}
	return &reload.File{
		Flag: "fault-file", Path: o.File, Seen: data,
		Apply: func(ctx context.Context, data []byte) error {
			faults, err := Parse(data)
			if err != nil {
				return err
			}
			return i.rules.replace(ctx, faults, fromFile)
		},
		Succeeded: func(string) {},
		Failed:    func() { klog.V(2).InfoS("the faults of the file are unchanged", "file", o.File) },
	}, nil
}
