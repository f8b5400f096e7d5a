package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// A start goes on without what admission refuses, and fails with the store.
func TestIsRefusal(t *testing.T) {
	t.Parallel()
	pods := corev1.Resource("pods")
	for _, test := range []struct {
		name, reason string
		err          error
		want         bool
	}{
		{"none", "nothing is refused", nil, false},
		{"forbidden", "a plugin says no", apierrors.NewForbidden(pods, "p", errors.New("no")), true},
		{"invalid", "a policy says no", apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p", nil), true},
		{"webhook", "nobody can say", apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		{"timeout", "the store doesn't answer", apierrors.NewTimeoutError("etcd", 1), false},
		{"store", "the store has failed", &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: no leader"}}, false},
		{"connection", "nobody has answered", errors.New("connection refused"), false},
		{"two", "each is refused", utilerrors.NewAggregate([]error{apierrors.NewForbidden(pods, "p", errors.New("no")), apierrors.NewForbidden(pods, "q", errors.New("no"))}), true},
		{"one of two", "the other has failed", utilerrors.NewAggregate([]error{apierrors.NewForbidden(pods, "p", errors.New("no")), errors.New("connection refused")}), false},
	} {
		err := test.err
		var several utilerrors.Aggregate
		if err != nil && !errors.As(err, &several) {
			err = fmt.Errorf("create: %w", err)
		}
		if got := isRefusal(err); got != test.want {
			t.Errorf("%s: %s: want %t, got %t", test.name, test.reason, test.want, got)
		}
	}
}

// A start that waits in vain says what for, and which flag is to blame.
func TestAwaitHealthNamesTheReason(t *testing.T) {
	t.Parallel()
	const kms = "failed to perform status section of the healthz check for KMS Provider kms-1"
	for _, test := range []struct {
		name, reason string
		failing      map[string]string // checks, and why they fail
		want         []string
	}{
		{"encryption", "the provider isn't up, and the file says where it should be", map[string]string{"kms-providers": kms}, []string{"--encryption-provider-config kms.yaml: kms-providers: " + kms}},
		{"encryption by version 1", "each provider has a check", map[string]string{"kms-provider-0": kms}, []string{"--encryption-provider-config kms.yaml: kms-provider-0: " + kms}},
		{"others", "each is told", map[string]string{"etcd": "no answer", "poststarthook/rbac/bootstrap-roles": "not yet"}, []string{"etcd: no answer", "poststarthook/rbac/bootstrap-roles: not yet"}},
		{"nobody", "the answer itself is all there is", nil, []string{"the last answer: ", "readyz check failed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				apiServer := &loopback{life: t.Context()}
				apiServer.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if reason, failing := test.failing[strings.TrimPrefix(r.URL.Path, "/readyz/")]; failing {
						http.Error(w, "internal server error: "+reason, http.StatusInternalServerError)
						return
					}
					answer := "[+]ping ok\n"
					for name := range test.failing {
						answer += "[-]" + name + " failed: reason withheld\n"
					}
					http.Error(w, answer+"readyz check failed", http.StatusInternalServerError)
				}))
				options := NewOptions()
				options.Etcd.EncryptionProviderConfigFilepath = "kms.yaml"
				s := &Server{config: &Config{
					client: kubernetes.NewForConfigOrDie(&rest.Config{Transport: apiServer, QPS: -1}), options: CompletedOptions{&completedOptions{Options: *options}},
				}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of the bubble's clock
				defer cancel()
				err := s.awaitHealth(ctx, "/readyz")
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v doesn't say %q", test.reason, err, want)
					}
				}
			})
		})
	}
}

// What is started goes on for a while when nobody wants it any more, and no longer.
func TestGraceful(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now() // of the bubble's clock
		later, end := graceful(ctx, time.Second)
		defer end()
		cancel()
		<-later.Done()
		if took := time.Since(began); took != time.Second {
			t.Errorf("it has ended after %v, want a second", took)
		}
		other, end := graceful(t.Context(), time.Second)
		end()
		<-other.Done()
	})
}

// An informer that lists in vain doesn't say why; who waits for it does.
func TestOrWhyUnlisted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		ended        bool // the start
		fails        bool // what the server answers
		hangs        bool // until the start ends
		want         string
	}{
		{"requests fail", "what lists gets the same answer", false, true, false, "it took too long: the server's own requests fail: no audit"},
		{"requests succeed", "something else is the cause", false, false, false, "it took too long"},
		{"the end of the start", "nobody waits any more", true, true, false, "it took too long"},
		{"the end of the start before the answer", "nobody waits any more", false, true, true, "it took too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			starting, end := context.WithTimeout(t.Context(), startTimeout)
			defer end()
			if test.ended {
				end()
			}
			apiServer := &loopback{life: t.Context()}
			apiServer.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.hangs {
					end()
					<-r.Context().Done()
				}
				if test.fails && r.URL.Path == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no audit", "code": 500}`))
				}
			}))
			s := &Server{config: &Config{client: kubernetes.NewForConfigOrDie(&rest.Config{Host: "https://localhost", Transport: apiServer})}}
			if got := s.orWhyUnlisted(starting, errors.New("it took too long")); got.Error() != test.want {
				t.Errorf("%s: %v, want %s", test.reason, got, test.want)
			}
		})
	}
}
