package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/testfile"
)

// readySeconds is the default time within which a program must listen.
const readySeconds = 30

// webhooks are the programs and the recordings behind the webhooks of a file.
type webhooks struct {
	log       func(line string)
	authority engine.Authority
	all       []*webhook
}

// webhook is what answers for the services of an element of webhooks in a file.
type webhook struct {
	testfile.Webhook
	field    string
	services []engine.Service
	// address is the HOST:PORT at which it listens.
	address string
	program *program
	replay  *replayed
}

// place chooses the addresses of the webhooks, and returns them by their services.
func (w *webhooks) place(file *testfile.File) ([]engine.Place, error) {
	var places []engine.Place
	for i, given := range file.Webhooks {
		one := &webhook{Webhook: given, field: fmt.Sprintf("webhooks[%d]", i), address: given.Address}
		fail := func(field string, err error) error {
			return file.Fail(one.field+field, err)
		}
		if one.address == "" {
			var err error
			if one.address, err = freeAddress(); err != nil {
				return nil, fail("", err)
			}
		}
		for n, name := range given.Services {
			service, err := parseService(name)
			if err != nil {
				return nil, fail(fmt.Sprintf(".services[%d]", n), err)
			}
			one.services = append(one.services, service)
			places = append(places, engine.Place{Namespace: service.Namespace, Name: service.Name, Port: service.Port, Address: one.address})
		}
		w.all = append(w.all, one)
	}
	return places, nil
}

// freeAddress returns an address at which nothing listens now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// parseService parses NAMESPACE/NAME[:PORT].
func parseService(text string) (engine.Service, error) {
	name, port, hasPort := strings.Cut(text, ":")
	namespace, name, found := strings.Cut(name, "/")
	service := engine.Service{Namespace: namespace, Name: name}
	if hasPort {
		number, err := strconv.ParseInt(port, 10, 32)
		found, service.Port = found && err == nil && number > 0, int32(number)
	}
	if !found || namespace == "" || name == "" {
		return service, fmt.Errorf("%q: must be NAMESPACE/NAME or NAMESPACE/NAME:PORT of a service", text)
	}
	return service, nil
}

// start starts the programs, and begins to answer by recordings.
func (w *webhooks) start(file *testfile.File) error {
	for _, one := range w.all {
		if one.Address != "" {
			continue
		}
		if err := one.start(file, w); err != nil {
			return file.Fail(one.field, err)
		}
	}
	return nil
}

func (one *webhook) start(file *testfile.File, w *webhooks) error {
	hosts := []string{"localhost"}
	for _, service := range one.services {
		hosts = append(hosts, service.Name+"."+service.Namespace+".svc")
	}
	cert, key, err := w.authority.ServingCertificate(hosts, []net.IP{net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	if one.Reviews != "" {
		one.replay, err = replay(file.At(one.Reviews), one.address, cert, key)
		return err
	}
	folder, err := os.MkdirTemp("", "miniapi-test-")
	if err != nil {
		return err
	}
	values := map[string]string{
		"CERT_DIR": folder, "CERT_FILE": filepath.Join(folder, "tls.crt"), "KEY_FILE": filepath.Join(folder, "tls.key"),
	}
	if _, values["PORT"], err = net.SplitHostPort(one.address); err != nil {
		return err
	}
	err = errors.Join(os.WriteFile(values["CERT_FILE"], cert, 0o600), os.WriteFile(values["KEY_FILE"], key, 0o600),
		os.WriteFile(filepath.Join(folder, "ca.crt"), w.authority.CA(), 0o600))
	if err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	one.program, err = startProgram(one.Webhook, file.At(one.Dir), folder, values, w.log)
	return err
}

// reach waits until the server reaches the webhooks of a file.
func (s *server) reach(ctx context.Context, file *testfile.File) error {
	for _, one := range s.webhooks.all {
		for _, service := range one.services {
			if err := s.reachService(ctx, one, service); err != nil {
				return file.Fail(one.field, err)
			}
		}
	}
	return nil
}

func (s *server) reachService(ctx context.Context, one *webhook, service engine.Service) error {
	timeout := time.Duration(one.ReadySeconds) * time.Second
	if timeout == 0 {
		timeout = readySeconds * time.Second
	}
	if service.Port == 0 {
		service.Port = 443
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if one.program != nil {
		defer context.AfterFunc(one.program.running, cancel)()
	}
	err := s.Reach(ctx, engine.Webhook{Name: service.Namespace + "/" + service.Name, Service: &service}, timeout)
	if err == nil || one.program == nil {
		return err
	}
	if one.program.running.Err() != nil {
		return fmt.Errorf("command %q has ended before it listened on %s: %w", one.Command, one.address, one.program.failure())
	}
	return fmt.Errorf("command %q must listen on %s within %s: %w%s", one.Command, one.address, timeout, err, one.program.lastLines())
}

// stop ends the programs with all processes that they have started.
func (w *webhooks) stop() {
	for _, one := range w.all {
		if one.program != nil {
			one.program.stop()
		}
		if one.replay != nil {
			one.replay.stop()
		}
	}
}
