package inputs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http accepts no other type of logger
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

const (
	configurationName = "conformance.miniapi.dev"
	readyLabel        = "conformance.miniapi.dev/ready"
	// perShape is the largest number of recorded requests for a webhook that have the same operation, resource and
	// subresource.
	perShape = 6
)

// recorder is a server of webhooks that take the place of the suite's webhooks: they have the same rules, allow every
// request, and record their reviews.
type recorder struct {
	hooks  []webhooksuite.Hook
	ca     []byte
	base   string
	server *http.Server
	served chan error

	mu     sync.Mutex
	ready  map[string]bool
	latest []recorded
	kept   []recorded
	counts map[string]int
}

type recorded struct {
	hook   int
	origin origin
	review []byte
}

// origin says where the object of a request comes from. It also tells whether the object is random.
type origin struct {
	text   string
	random bool
}

// record starts the webhooks that record requests, on a free port of the loopback interface.
func record(hooks []webhooksuite.Hook) (*recorder, error) {
	certificate, ca, err := selfSigned()
	if err != nil {
		return nil, fmt.Errorf("making a certificate for the suite's own webhook, which records requests: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the suite's own webhook, which records requests: %w", err)
	}
	r := &recorder{
		hooks: hooks, ca: ca, base: "https://" + listener.Addr().String(), served: make(chan error, 1), ready: map[string]bool{}, counts: map[string]int{},
	}
	r.server = &http.Server{
		Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { r.served <- r.server.ServeTLS(listener, "", "") }()
	return r, nil
}

func (r *recorder) close() error {
	err := r.server.Close()
	if served := <-r.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// selfSigned returns a self-signed certificate for 127.0.0.1, also in PEM.
func selfSigned() (*tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "conformance"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// serve records a review and allows its request. The URL path of a recorded review is the index of the webhook. A
// review whose path is a webhooksuite.Kind isn't recorded: it shows that the configuration of that kind is in effect.
func (r *recorder) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var review admissionv1.AdmissionReview
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, "the body must be an AdmissionReview with a request", http.StatusBadRequest)
		return
	}
	name := strings.TrimPrefix(req.URL.Path, "/")
	r.mu.Lock()
	if hook, err := strconv.Atoi(name); err == nil {
		r.latest = append(r.latest, recorded{hook: hook, review: body})
	} else {
		r.ready[name] = true
	}
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{
		TypeMeta: review.TypeMeta, Response: &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true},
	})
}

// keep ends the recording of one request. If the request was good, keep adds the reviews of the request to r.kept. For
// each webhook, r.kept has at most perShape reviews with the same operation, resource and subresource. If the request
// was bad, keep drops the reviews.
func (r *recorder) keep(good bool, from origin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.latest {
		var review admissionv1.AdmissionReview
		if !good || json.Unmarshal(one.review, &review) != nil {
			continue
		}
		q := review.Request
		shape := fmt.Sprintf("%d %s %s %s", one.hook, q.Operation, q.Resource, q.SubResource)
		if r.counts[shape]++; r.counts[shape] <= perShape {
			one.origin = from
			r.kept = append(r.kept, one)
		}
	}
	r.latest = nil
}

// inputs returns the reviews in r.kept.
func (r *recorder) inputs() ([]*webhooksuite.Input, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var inputs []*webhooksuite.Input
	for _, one := range r.kept {
		in, err := webhooksuite.NewInput(one.hook, one.origin.text, one.review)
		if err != nil {
			return nil, err
		}
		in.Random = one.origin.random
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// configurations returns a mutating and a validating configuration with the rules of the webhooks. The rules of a
// webhook of unknown kind are in the mutating configuration. No selectors limit the rules, because the objects are made
// for these webhooks. Each configuration also has a webhook for ConfigMaps with the label readyLabel. The method
// register creates a ConfigMap with this label as a dry run: when the server calls the webhook for it, the
// configuration is in effect.
func (r *recorder) configurations() (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration) {
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: configurationName}}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: configurationName}}
	none, ignore := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore
	add := func(kind webhooksuite.Kind, path string, rules []admissionregistrationv1.RuleWithOperations, policy *admissionregistrationv1.MatchPolicyType, selector *metav1.LabelSelector) {
		u := r.base + "/" + path
		client := admissionregistrationv1.WebhookClientConfig{URL: &u, CABundle: r.ca}
		name := path + "." + strings.ToLower(string(kind)) + "." + configurationName
		if kind == webhooksuite.Validating {
			validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{
				Name: name, ClientConfig: client, Rules: rules, MatchPolicy: policy, ObjectSelector: selector,
				SideEffects: &none, FailurePolicy: &ignore, AdmissionReviewVersions: []string{"v1"},
			})
			return
		}
		mutating.Webhooks = append(mutating.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name: name, ClientConfig: client, Rules: rules, MatchPolicy: policy, ObjectSelector: selector,
			SideEffects: &none, FailurePolicy: &ignore, AdmissionReviewVersions: []string{"v1"},
		})
	}
	ready := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	exists := &metav1.LabelSelector{MatchLabels: map[string]string{readyLabel: "true"}}
	for i := range r.hooks {
		kind := r.hooks[i].Kind
		if kind == webhooksuite.Unknown {
			kind = webhooksuite.Mutating
		}
		if len(r.hooks[i].Entry.Rules) > 0 {
			add(kind, strconv.Itoa(i), r.hooks[i].Entry.Rules, r.hooks[i].Entry.MatchPolicy, nil)
		}
	}
	add(webhooksuite.Mutating, string(webhooksuite.Mutating), ready, nil, exists)
	add(webhooksuite.Validating, string(webhooksuite.Validating), ready, nil, exists)
	return mutating, validating
}

// register creates the configurations, and waits until the server calls the webhooks.
func (r *recorder) register(ctx context.Context, c *Source) error {
	mutating, validating := r.configurations()
	registrations := c.client.AdmissionregistrationV1()
	if _, err := registrations.MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("registering the webhooks that record requests: %w", err)
	}
	if _, err := registrations.ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("registering the webhooks that record requests: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the recording webhooks aren't in effect after %v", timeout))
	defer cancel()
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "ready", "labels": map[string]any{readyLabel: "true"}},
	}}
	configMaps := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(c.namespace)
	for {
		if _, err := configMaps.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil && ctx.Err() == nil {
			return fmt.Errorf("probing the recording webhooks: %w", err)
		}
		r.mu.Lock()
		ready := r.ready[string(webhooksuite.Mutating)] && r.ready[string(webhooksuite.Validating)]
		r.latest = nil
		r.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// unregister deletes the configurations. Otherwise the webhooks would also be called when the server checks patched
// objects.
func (r *recorder) unregister(ctx context.Context, c *Source) error {
	registrations := c.client.AdmissionregistrationV1()
	return errors.Join(
		ignoreGone(registrations.MutatingWebhookConfigurations().Delete(ctx, configurationName, metav1.DeleteOptions{})),
		ignoreGone(registrations.ValidatingWebhookConfigurations().Delete(ctx, configurationName, metav1.DeleteOptions{})),
	)
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
