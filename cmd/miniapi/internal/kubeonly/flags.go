package kubeonly

import "github.com/spf13/pflag"

// flagsOfType are the names of kube-apiserver's flags that have no effect in miniapi, by the type of their value.
var flagsOfType = map[string][]string{
	"bool": {
		"enable-logs-handler",
		"enable-priority-and-fairness",
	},
	"duration": {
		"coordinated-leadership-lease-duration",
		"coordinated-leadership-renew-deadline",
		"coordinated-leadership-retry-period",
		"kubelet-timeout", // this flag has no effect in kube-apiserver either
	},
	"int": {
		"apiserver-count", // Kubernetes 1.36 has this flag, and those of the kubelet's ports, as deprecated flags
		"kubelet-port",
		"kubelet-read-only-port",
		"kubernetes-service-node-port",
		"max-connection-bytes-per-sec",
	},
	"string": {
		"allow-metric-labels-manifest",
		"egress-selector-config-file",
		"service-account-signing-endpoint",
		"show-hidden-metrics-for-version",
	},
	"strings":        {"disabled-metrics"},
	"stringToString": {"allow-metric-labels"},
}

// AddFlags adds the flags of kube-apiserver that have no effect in miniapi to fs, and hides them in the help. As in
// kube-apiserver, a value of the wrong type is an error.
func (g *Given) AddFlags(fs *pflag.FlagSet) {
	defined := pflag.NewFlagSet("", pflag.ContinueOnError)
	for valueType, names := range flagsOfType {
		for _, name := range names {
			defineFlag(defined, valueType, name)
		}
	}
	defined.VisitAll(func(flag *pflag.Flag) {
		flag.Value = &flagValue{flag.Value, g, "--" + flag.Name}
		flag.Hidden = true
		fs.AddFlag(flag)
	})
}

func defineFlag(fs *pflag.FlagSet, valueType, name string) {
	const usage = "Accepted, and ignored."
	switch valueType {
	case "bool":
		fs.Bool(name, false, usage)
	case "duration":
		fs.Duration(name, 0, usage)
	case "int":
		fs.Int(name, 0, usage)
	case "strings":
		fs.StringSlice(name, nil, usage)
	case "stringToString":
		fs.StringToString(name, nil, usage)
	default:
		fs.String(name, "", usage)
	}
}

// flagValue is the value of a flag without an effect. When the flag is set, its name is added to the list of Given.
type flagValue struct {
	pflag.Value
	given *Given
	name  string
}

func (v *flagValue) Set(value string) error {
	if err := v.Value.Set(value); err != nil {
		return err
	}
	v.given.add(v.name)
	return nil
}
