package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// onceSuccessful checks a liveness or startup probe. Its successThreshold must be 1.
func onceSuccessful(path *field.Path, p *corev1.Probe) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := probe(path, p)
	if p.SuccessThreshold != 1 {
		errs = append(errs, field.Invalid(path.Child("successThreshold"), p.SuccessThreshold, "must be 1"))
	}
	return errs
}

// readiness checks a readiness probe. It can't have a grace period.
func readiness(path *field.Path, p *corev1.Probe) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := probe(path, p)
	if grace := p.TerminationGracePeriodSeconds; grace != nil {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), grace, "must not be set for readinessProbes"))
	}
	return errs
}

func probe(path *field.Path, p *corev1.Probe) field.ErrorList {
	var f validation.Findings
	f.Merge(
		handler{exec: p.Exec, http: p.HTTPGet, tcp: p.TCPSocket, grpc: p.GRPC}.check(path),
		validation.Nonnegative(path.Child("initialDelaySeconds"), p.InitialDelaySeconds),
		validation.Nonnegative(path.Child("timeoutSeconds"), p.TimeoutSeconds),
		validation.Nonnegative(path.Child("periodSeconds"), p.PeriodSeconds),
		validation.Nonnegative(path.Child("successThreshold"), p.SuccessThreshold),
		validation.Nonnegative(path.Child("failureThreshold"), p.FailureThreshold))
	if grace := p.TerminationGracePeriodSeconds; grace != nil && *grace <= 0 {
		f.Add(field.Invalid(path.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0"))
	}
	return f.Errs
}

func lifecycle(path *field.Path, l *corev1.Lifecycle, grace *int64, os *corev1.PodOS) field.ErrorList {
	var f validation.Findings
	for _, hook := range []struct {
		name string
		*corev1.LifecycleHandler
	}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
		if h := hook.LifecycleHandler; h != nil {
			f.Merge(handler{exec: h.Exec, http: h.HTTPGet, tcp: h.TCPSocket, sleep: h.Sleep, grace: grace}.check(path.Child(hook.name)))
		}
	}
	if l.StopSignal != nil {
		f.Merge(stopSignal(path.Child("stopSignal"), *l.StopSignal, os))
	}
	return f.Errs
}

// handler is the action of a probe or a lifecycle hook. Exactly one of exec, http, tcp, grpc and
// sleep must be set. The field "grace" is the grace period, which "sleep" must not exceed.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
	grace *int64
}

func (h handler) check(path *field.Path) field.ErrorList {
	var f validation.Findings
	found := false
	for _, action := range []struct {
		name  string
		set   bool
		check func(*field.Path) field.ErrorList
	}{
		{"exec", h.exec != nil, h.execAction},
		{"httpGet", h.http != nil, h.httpAction},
		{"tcpSocket", h.tcp != nil, func(path *field.Path) field.ErrorList {
			return validation.PortNumberOrName(path.Child("port"), h.tcp.Port)
		}},
		{"grpc", h.grpc != nil, func(path *field.Path) field.ErrorList {
			return append(validation.PortNumberOrName(path.Child("port"), intstr.FromInt32(h.grpc.Port)),
				validation.OptionalOneOf(path.Child("mode"), h.grpc.Mode, corev1.GRPCProbeModePlaintext, corev1.GRPCProbeModeTLS)...)
		}},
		{"sleep", h.sleep != nil, h.sleepAction},
	} {
		switch {
		case !action.set:
		case found:
			f.Add(field.Forbidden(path.Child(action.name), "may not specify more than 1 handler type"))
		default:
			found = true
			f.Merge(action.check(path.Child(action.name)))
		}
	}
	f.AddIf(!found, field.Required(path, "must specify a handler type"))
	return f.Errs
}

func (h handler) execAction(path *field.Path) field.ErrorList {
	if len(h.exec.Command) > 0 {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("command"), "")}
}

func (h handler) httpAction(path *field.Path) field.ErrorList {
	var f validation.Findings
	f.AddIf(h.http.Path == "", field.Required(path.Child("path"), ""))
	f.Merge(
		validation.PortNumberOrName(path.Child("port"), h.http.Port),
		validation.OneOf(path.Child("scheme"), h.http.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS))
	for _, header := range h.http.HTTPHeaders {
		f.Merge(validation.Follows(utilvalidation.IsHTTPHeaderName, path.Child("httpHeaders"), header.Name))
	}
	f.Merge(validation.OptionalOneOf(path.Child("protocol"), h.http.Protocol, corev1.HTTPProtocolHTTP1, corev1.HTTPProtocolHTTP2))
	if ptr.Deref(h.http.Protocol, "") == corev1.HTTPProtocolHTTP2 {
		if h.http.Scheme != corev1.URISchemeHTTP {
			f.Add(field.Invalid(path.Child("protocol"), *h.http.Protocol, "is only supported with HTTP (H2C)"))
		} else {
			f.AddIf(h.http.Host != "", field.Invalid(path.Child("host"), h.http.Host, "must be empty when `protocol` is \"HTTP2\""))
		}
	}
	return f.Errs
}

func (h handler) sleepAction(path *field.Path) field.ErrorList {
	// If the grace period is missing, another check returns an error about the missing field.
	if h.grace == nil || h.sleep.Seconds >= 0 && h.sleep.Seconds <= *h.grace {
		return nil
	}
	msg := fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *h.grace)
	return field.ErrorList{field.Invalid(path, h.sleep.Seconds, msg)}
}

var windowsSignals = []corev1.Signal{corev1.SIGKILL, corev1.SIGTERM}

// linuxSignals are the signals of Linux, in the order of kube-apiserver's message.
var linuxSignals = []corev1.Signal{
	corev1.SIGABRT, corev1.SIGALRM, corev1.SIGBUS, corev1.SIGCHLD, corev1.SIGCLD, corev1.SIGCONT, corev1.SIGFPE,
	corev1.SIGHUP, corev1.SIGILL, corev1.SIGINT, corev1.SIGIO, corev1.SIGIOT, corev1.SIGKILL, corev1.SIGPIPE,
	corev1.SIGPOLL, corev1.SIGPROF, corev1.SIGPWR, corev1.SIGQUIT, corev1.SIGRTMAX, corev1.SIGRTMAXMINUS1,
	corev1.SIGRTMAXMINUS10, corev1.SIGRTMAXMINUS11, corev1.SIGRTMAXMINUS12, corev1.SIGRTMAXMINUS13,
	corev1.SIGRTMAXMINUS14, corev1.SIGRTMAXMINUS2, corev1.SIGRTMAXMINUS3, corev1.SIGRTMAXMINUS4,
	corev1.SIGRTMAXMINUS5, corev1.SIGRTMAXMINUS6, corev1.SIGRTMAXMINUS7, corev1.SIGRTMAXMINUS8,
	corev1.SIGRTMAXMINUS9, corev1.SIGRTMIN, corev1.SIGRTMINPLUS1, corev1.SIGRTMINPLUS10, corev1.SIGRTMINPLUS11,
	corev1.SIGRTMINPLUS12, corev1.SIGRTMINPLUS13, corev1.SIGRTMINPLUS14, corev1.SIGRTMINPLUS15,
	corev1.SIGRTMINPLUS2, corev1.SIGRTMINPLUS3, corev1.SIGRTMINPLUS4, corev1.SIGRTMINPLUS5, corev1.SIGRTMINPLUS6,
	corev1.SIGRTMINPLUS7, corev1.SIGRTMINPLUS8, corev1.SIGRTMINPLUS9, corev1.SIGSEGV, corev1.SIGSTKFLT,
	corev1.SIGSTOP, corev1.SIGSYS, corev1.SIGTERM, corev1.SIGTRAP, corev1.SIGTSTP, corev1.SIGTTIN, corev1.SIGTTOU,
	corev1.SIGURG, corev1.SIGUSR1, corev1.SIGUSR2, corev1.SIGVTALRM, corev1.SIGWINCH, corev1.SIGXCPU, corev1.SIGXFSZ,
}

// stopSignal checks the signal that stops a container (KEP-4960).
func stopSignal(path *field.Path, signal corev1.Signal, os *corev1.PodOS) field.ErrorList {
	switch {
	case os == nil:
		return field.ErrorList{field.Forbidden(path, "may not be set for containers with empty `spec.os.name`")}
	case os.Name == corev1.Windows:
		return validation.OneOf(path, signal, windowsSignals...)
	case os.Name == corev1.Linux:
		return validation.OneOf(path, signal, linuxSignals...)
	}
	return nil
}
