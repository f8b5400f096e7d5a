package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// inert are kube-apiserver's flags that mean nothing here, with the kind of their
// value. They are accepted, so that command lines written for it work.
var inert = map[string]string{
	"admission-control":                            "strings",
	"admission-control-config-file":                "string",
	"advertise-address":                            "ip",
	"aggregator-reject-forwarding-redirect":        "bool",
	"allow-metric-labels":                          "stringToString",
	"allow-metric-labels-manifest":                 "string",
	"allow-privileged":                             "bool",
	"anonymous-auth":                               "bool",
	"api-audiences":                                "strings",
	"audit-log-batch-buffer-size":                  "int",
	"audit-log-batch-max-size":                     "int",
	"audit-log-batch-max-wait":                     "duration",
	"audit-log-batch-throttle-burst":               "int",
	"audit-log-batch-throttle-enable":              "bool",
	"audit-log-batch-throttle-qps":                 "float",
	"audit-log-compress":                           "bool",
	"audit-log-format":                             "string",
	"audit-log-maxage":                             "int",
	"audit-log-maxbackup":                          "int",
	"audit-log-maxsize":                            "int",
	"audit-log-mode":                               "string",
	"audit-log-path":                               "string",
	"audit-log-truncate-enabled":                   "bool",
	"audit-log-truncate-max-batch-size":            "int",
	"audit-log-truncate-max-event-size":            "int",
	"audit-log-version":                            "string",
	"audit-policy-file":                            "string",
	"audit-webhook-batch-buffer-size":              "int",
	"audit-webhook-batch-max-size":                 "int",
	"audit-webhook-batch-max-wait":                 "duration",
	"audit-webhook-batch-throttle-burst":           "int",
	"audit-webhook-batch-throttle-enable":          "bool",
	"audit-webhook-batch-throttle-qps":             "float",
	"audit-webhook-config-file":                    "string",
	"audit-webhook-initial-backoff":                "duration",
	"audit-webhook-mode":                           "string",
	"audit-webhook-truncate-enabled":               "bool",
	"audit-webhook-truncate-max-batch-size":        "int",
	"audit-webhook-truncate-max-event-size":        "int",
	"audit-webhook-version":                        "string",
	"authentication-config":                        "string",
	"authentication-token-webhook-cache-ttl":       "duration",
	"authentication-token-webhook-config-file":     "string",
	"authentication-token-webhook-version":         "string",
	"authorization-config":                         "string",
	"authorization-mode":                           "strings",
	"authorization-policy-file":                    "string",
	"authorization-webhook-cache-authorized-ttl":   "duration",
	"authorization-webhook-cache-unauthorized-ttl": "duration",
	"authorization-webhook-config-file":            "string",
	"authorization-webhook-version":                "string",
	"bind-address":                                 "ip",
	"cert-dir":                                     "string",
	"client-ca-file":                               "string",
	"contention-profiling":                         "bool",
	"coordinated-leadership-lease-duration":        "duration",
	"coordinated-leadership-renew-deadline":        "duration",
	"coordinated-leadership-retry-period":          "duration",
	"cors-allowed-origins":                         "strings",
	"debug-socket-path":                            "string",
	"default-not-ready-toleration-seconds":         "int",
	"default-unreachable-toleration-seconds":       "int",
	"delete-collection-workers":                    "int",
	"disable-admission-plugins":                    "strings",
	"disable-http2-serving":                        "bool",
	"disabled-metrics":                             "strings",
	"egress-selector-config-file":                  "string",
	"emulated-version":                             "strings",
	"emulation-forward-compatible":                 "bool",
	"enable-admission-plugins":                     "strings",
	"enable-aggregator-routing":                    "bool",
	"enable-bootstrap-token-auth":                  "bool",
	"enable-garbage-collector":                     "bool",
	"enable-logs-handler":                          "bool",
	"enable-priority-and-fairness":                 "bool",
	"encryption-provider-config":                   "string",
	"encryption-provider-config-automatic-reload":  "bool",
	"endpoint-reconciler-type":                     "string",
	"etcd-cafile":                                  "string",
	"etcd-certfile":                                "string",
	"etcd-compaction-interval":                     "duration",
	"etcd-count-metric-poll-period":                "duration",
	"etcd-db-metric-poll-interval":                 "duration",
	"etcd-healthcheck-timeout":                     "duration",
	"etcd-keyfile":                                 "string",
	"etcd-prefix":                                  "string",
	"etcd-readycheck-timeout":                      "duration",
	"etcd-servers":                                 "strings",
	"etcd-servers-overrides":                       "strings",
	"event-ttl":                                    "duration",
	"external-hostname":                            "string",
	"feature-gates":                                "colonSeparatedMultimapStringString",
	"goaway-chance":                                "float",
	"http2-max-streams-per-connection":             "int",
	"kubelet-certificate-authority":                "string",
	"kubelet-client-certificate":                   "string",
	"kubelet-client-key":                           "string",
	"kubelet-preferred-address-types":              "strings",
	"kubelet-timeout":                              "duration",
	"kubernetes-service-node-port":                 "int",
	"lease-reuse-duration-seconds":                 "int",
	"livez-grace-period":                           "duration",
	"log-flush-frequency":                          "duration",
	"log-json-info-buffer-size":                    "quantity",
	"log-json-split-stream":                        "bool",
	"log-text-info-buffer-size":                    "quantity",
	"log-text-split-stream":                        "bool",
	"logging-format":                               "string",
	"max-connection-bytes-per-sec":                 "int",
	"max-mutating-requests-inflight":               "int",
	"max-requests-inflight":                        "int",
	"min-compatibility-version":                    "strings",
	"min-request-timeout":                          "int",
	"oidc-ca-file":                                 "string",
	"oidc-client-id":                               "string",
	"oidc-groups-claim":                            "string",
	"oidc-groups-prefix":                           "string",
	"oidc-issuer-url":                              "string",
	"oidc-required-claim":                          "mapStringString",
	"oidc-signing-algs":                            "strings",
	"oidc-username-claim":                          "string",
	"oidc-username-prefix":                         "string",
	"peer-advertise-ip":                            "string",
	"peer-advertise-port":                          "string",
	"peer-ca-file":                                 "string",
	"permit-address-sharing":                       "bool",
	"permit-port-sharing":                          "bool",
	"profiling":                                    "bool",
	"proxy-client-cert-file":                       "string",
	"proxy-client-key-file":                        "string",
	"request-timeout":                              "duration",
	"requestheader-allowed-names":                  "strings",
	"requestheader-client-ca-file":                 "string",
	"requestheader-extra-headers-prefix":           "strings",
	"requestheader-group-headers":                  "strings",
	"requestheader-uid-headers":                    "strings",
	"requestheader-username-headers":               "strings",
	"runtime-config":                               "mapStringString",
	"runtime-config-emulation-forward-compatible":  "bool",
	"secure-port":                                  "int",
	"service-account-extend-token-expiration":      "bool",
	"service-account-issuer":                       "stringArray",
	"service-account-jwks-uri":                     "string",
	"service-account-key-file":                     "stringArray",
	"service-account-lookup":                       "bool",
	"service-account-max-token-expiration":         "duration",
	"service-account-signing-endpoint":             "string",
	"service-account-signing-key-file":             "string",
	"service-cluster-ip-range":                     "string",
	"service-node-port-range":                      "portRange",
	"show-hidden-metrics-for-version":              "string",
	"shutdown-delay-duration":                      "duration",
	"shutdown-send-retry-after":                    "bool",
	"shutdown-watch-termination-grace-period":      "duration",
	"storage-backend":                              "string",
	"storage-initialization-timeout":               "duration",
	"storage-media-type":                           "string",
	"strict-transport-security-directives":         "strings",
	"tls-cert-file":                                "string",
	"tls-cipher-suites":                            "strings",
	"tls-curve-preferences":                        "int",
	"tls-min-version":                              "string",
	"tls-private-key-file":                         "string",
	"tls-sni-cert-key":                             "namedCertKey",
	"token-auth-file":                              "string",
	"tracing-config-file":                          "string",
	"version":                                      "version",
	"vmodule":                                      "pattern",
	"watch-cache":                                  "bool",
	"watch-cache-sizes":                            "strings",
}

// inertFlags remembers which of them were given.
type inertFlags struct {
	given []string
}

// addTo defines the flags that the set doesn't have.
func (f *inertFlags) addTo(fs *pflag.FlagSet) {
	for name, kind := range inert {
		if fs.Lookup(name) != nil {
			continue
		}
		flag := fs.VarPF(&inertValue{flags: f, name: "--" + name, kind: kind}, name, "", "Accepted, and ignored.")
		flag.Hidden = true
		if kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// note remembers something that was given and means nothing.
func (f *inertFlags) note(what string) {
	if !slices.Contains(f.given, what) {
		f.given = append(f.given, what)
	}
}

// warn names, once, everything that was given and means nothing here.
func (f *inertFlags) warn(to io.Writer) {
	if len(f.given) > 0 {
		fmt.Fprintf(to, "Warning: kube-apiserver has these, and they mean nothing here: %s\n", strings.Join(f.given, ", "))
	}
}

// inertValue is the pflag.Value of an inert flag.
type inertValue struct {
	flags      *inertFlags
	name, kind string
}

func (v *inertValue) String() string { return "" }
func (v *inertValue) Type() string   { return v.kind }
func (v *inertValue) Set(string) error {
	v.flags.note(v.name)
	return nil
}
