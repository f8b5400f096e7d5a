package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/requests"
)

// exemptGroup is the group of the user who stores the objects that cases need.
const exemptGroup = "test.miniapi.dev:setup"

// adminName is the name of the admin of a server.
const adminName = "system:admin"

// flags are the flags of every server. The trace keeps a few requests, because controllers make some beside a case.
var flags = []string{"--trace-requests=20", "--trace-secrets"}

// controllers are the controllers without which requests aren't decided as in a cluster.
var controllers = []string{"serviceaccount-controller", "clusterrole-aggregation-controller", "resourcequota-controller"}

// server is a running server.
type server struct {
	engine.Server
	config, setup *rest.Config
	discovery     *discovery.DiscoveryClient
	// pristine has the objects of the start, and catalog the resources then.
	pristine engine.Snapshot
	catalog  requests.Catalog
	audits   *audits
	webhooks *webhooks
}

// start starts a server with the options and the webhooks of a file.
func (r *Runner) start(ctx context.Context, file *testfile.File, audited bool) (*server, error) {
	s := &server{audits: newAudits()}
	log := r.Log
	if log == nil {
		log = func(string) {}
	}
	s.webhooks = &webhooks{log: log}
	d := engine.Description{
		Controllers: controllers, FeatureGates: file.Server.FeatureGates, EmulatedVersion: file.Server.EmulatedVersion,
		Flags: flagsOf(file), ExemptGroup: exemptGroup,
	}
	if r.Recorded != nil {
		d.Flags = append(d.Flags, "--trace-branches")
	}
	if file.Server.Controllers != nil {
		d.Controllers = file.Server.Controllers
	}
	if audited {
		d.Audit, d.AuditPolicy = true, json.RawMessage(`{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`)
	}
	var err error
	if d.Services, err = s.webhooks.place(file); err != nil {
		return nil, err
	}
	s.Server, err = r.Engine.Start(ctx, d, engine.Events{
		Log: log, Warn: log, Audit: s.audits.add, Configured: func(authority engine.Authority) { s.webhooks.authority = authority },
	})
	if err != nil {
		return nil, errors.New(fields.Replace(err.Error()))
	}
	if err := s.prepare(ctx, file); err != nil {
		_ = s.Stop() // the error of the preparation says what is wrong
		return nil, err
	}
	return s, nil
}

// fields has the options of the fixture and the flags that errors of the engine name, with the fields of files that set them.
var fields = strings.NewReplacer(
	"WithFlags", "server.flags", "WithFeatureGates", "server.featureGates", "WithControllers", "server.controllers",
	"WithEmulatedVersion", "server.emulatedVersion", "--emulated-version", "server.emulatedVersion", "--load", "load",
)

// flagsOf returns the flags of the server of a file.
func flagsOf(file *testfile.File) []string {
	all := append(slices.Clone(flags), file.Server.Flags...)
	for _, path := range file.Load {
		all = append(all, "--load="+file.At(path))
	}
	return all
}

// prepare makes the clients, reads the resources, takes the snapshot, and starts the webhooks.
func (s *server) prepare(ctx context.Context, file *testfile.File) error {
	info := s.Info()
	s.config = &rest.Config{
		Host: info.Host, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: info.CA, CertData: info.Cert, KeyData: info.Key},
	}
	s.setup = impersonating(s.config)
	var err error
	if s.discovery, err = discovery.NewDiscoveryClientForConfig(s.config); err != nil {
		return err
	}
	if s.catalog, err = s.resources(); err != nil {
		return err
	}
	if s.pristine, err = s.Snapshot(ctx); err != nil {
		return err
	}
	return s.webhooks.start(file)
}

// Stop stops the server and the webhooks.
func (s *server) Stop() error {
	s.webhooks.stop()
	return s.Server.Stop()
}

// resources reads the resources that the server has now.
func (s *server) resources() (requests.Catalog, error) {
	_, lists, err := s.discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // if only some groups fail, use the others
		return nil, fmt.Errorf("reading the resources of the server: %w", err)
	}
	return requests.NewCatalog(lists), nil
}

// catalogWith returns the resources of the server, which has installed objects.
func (s *server) catalogWith(objects []manifests.Object) (requests.Catalog, error) {
	defines := func(object manifests.Object) bool {
		return manifests.IsDefinition(object.GroupVersionKind()) || object.GetKind() == "APIService"
	}
	if !slices.ContainsFunc(objects, defines) {
		return s.catalog, nil
	}
	return s.resources()
}

// audits keeps the annotations of expected audit events until a case reads them.
type audits struct {
	mu sync.Mutex
	// events has the annotations by the id of the request.
	events map[string]chan map[string]string
}

func newAudits() *audits { return &audits{events: map[string]chan map[string]string{}} }

// expect makes add keep the event of a request.
func (a *audits) expect(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events[id] = make(chan map[string]string, 1)
}

func (a *audits) of(id string) chan map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.events[id]
}

// add keeps the annotations of the event at the end of a request.
func (a *audits) add(encoded []byte) {
	var event struct {
		AuditID     string            `json:"auditID"`
		Stage       string            `json:"stage"`
		Annotations map[string]string `json:"annotations"`
	}
	if json.Unmarshal(encoded, &event) != nil || event.Stage != "ResponseComplete" && event.Stage != "Panic" {
		return
	}
	select {
	case a.of(event.AuditID) <- event.Annotations:
	default: // no case expects the event, or the event has been reported already
	}
}

// annotations returns the annotations of a request's audit event, which may come after the response.
func (a *audits) annotations(ctx context.Context, id string) (map[string]string, error) {
	select {
	case found := <-a.of(id):
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.events, id)
		return found, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the audit event of the request: %w", context.Cause(ctx))
	}
}
