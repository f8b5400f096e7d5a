package pod

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestLog(t *testing.T) {
	t.Parallel()
	k := kubeletsOf(t, func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/containerLogs/ns/p/absent":
			http.Error(w, "no such container", http.StatusNotFound)
		case "/containerLogs/ns/p/moved":
			http.Redirect(w, req, "https://elsewhere.invalid", http.StatusFound)
		default:
			_, _ = fmt.Fprint(w, req.URL)
		}
	})
	unscheduled := registrytest.PodOnNode("unscheduled", "c")
	unscheduled.Spec.NodeName = ""
	unverified, err := k.Unverified()
	if err != nil {
		t.Fatal(err)
	}
	verified := &logREST{registrytest.Known{"p": registrytest.PodOnNode("p", "c", "absent", "moved"), "unscheduled": unscheduled}, k, unverified}
	stranger := *verified
	stranger.kubelets.Transport = http.DefaultTransport

	for _, test := range []struct {
		name, reason string
		rest         *logREST
		pod          string
		options      corev1.PodLogOptions
		want         string
	}{
		{"plain", "the URL for the kubelet names the container", verified, "p", corev1.PodLogOptions{Container: "c"},
			"/containerLogs/ns/p/c"},
		{"options", "the options go to the kubelet", verified, "p", corev1.PodLogOptions{
			Container: "c", Follow: true, Previous: true, Timestamps: true, TailLines: ptr.To[int64](0), LimitBytes: ptr.To[int64](7),
			SinceTime: &metav1.Time{Time: time.Unix(0, 0).UTC()},
		}, "/containerLogs/ns/p/c?follow=true&limitBytes=7&previous=true&sinceTime=1970-01-01T00%3A00%3A00Z&tailLines=0&timestamps=true"},
		{"unscheduled", "nothing has been logged yet", verified, "unscheduled", corev1.PodLogOptions{}, ""},
		{"not found", "the kubelet's errors are the client's", verified, "p", corev1.PodLogOptions{Container: "absent"},
			"the server could not find the requested resource ( pods/log p)"},
		{"redirect", "the server follows no redirects of a kubelet", verified, "p",
			corev1.PodLogOptions{Container: "moved"}, `Get "https://elsewhere.invalid": redirects forbidden`},
		{"unverified", "the caller can skip the verification of the kubelet's certificate", &stranger, "p",
			corev1.PodLogOptions{Container: "c", InsecureSkipTLSVerifyBackend: true}, "/containerLogs/ns/p/c"},
		{"which container", "a pod with several containers has no default container", verified, "p",
			corev1.PodLogOptions{}, "a container name must be specified for pod p, choose one of: [c absent moved]"},
		{"negative", "the server checks the options before it reads the pod", verified, "nope", corev1.PodLogOptions{TailLines: ptr.To[int64](-1)},
			`PodLogOptions "nope" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0`},
		{"two beginnings", "the server would ignore one of the two beginnings", verified, "p", corev1.PodLogOptions{SinceSeconds: ptr.To[int64](1), SinceTime: &metav1.Time{}},
			"PodLogOptions \"p\" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"},
		{"stream", "the feature is off", verified, "p", corev1.PodLogOptions{Stream: ptr.To(corev1.LogStreamStdout)},
			`PodLogOptions "p" is invalid: stream: Forbidden: may not be specified`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := readLog(t, test.rest, test.pod, &test.options)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
		})
	}
	t.Run("stranger", func(t *testing.T) {
		t.Parallel()
		if got, err := readLog(t, &stranger, "p", &corev1.PodLogOptions{Container: "c"}); err == nil {
			t.Errorf("a kubelet whose certificate isn't known was asked: %s", got)
		}
	})
}

func readLog(t *testing.T, r *logREST, pod string, options *corev1.PodLogOptions) (string, error) {
	t.Helper()
	obj, err := r.Get(t.Context(), pod, options)
	if err != nil {
		return "", err
	}
	stream, _, _, err := obj.(rest.ResourceStreamer).InputStream(t.Context(), "", "")
	if err != nil || stream == nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	body, err := io.ReadAll(stream)
	return string(body), err
}
