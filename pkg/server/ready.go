package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
)

const (
	// startTimeout bounds what a start waits for: this process and its etcd.
	startTimeout = time.Minute

	// ensureTimeout bounds how long of that what every cluster has is waited for, which webhooks may be
	// asked about.
	ensureTimeout = startTimeout / 2

	// startGrace is how long a start goes on that nobody wants any more: it is over in less, unless something is wrong.
	startGrace = 10 * time.Second
)

// graceful is a context that ends some time after ctx does, for what is better finished than broken off.
func graceful(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return later, func() {
		stop()
		cancel()
	}
}

// syncInformers starts the informers of admission, authorization and custom
// resources, and waits until each has seen what is stored.
func (s *Server) syncInformers(starting context.Context) error {
	ctx, cancel := context.WithTimeout(starting, startTimeout)
	defer cancel()
	s.config.informers.StartWithContext(s.config.following)
	s.config.customResources.Informers().StartWithContext(s.config.following)
	if aggregator := s.config.aggregator.Load(); aggregator != nil {
		aggregator.Start()
	}
	if err := s.config.informers.WaitForSync(ctx); err != nil {
		return fmt.Errorf("waiting for informers: %w", s.orWhyUnlisted(starting, err))
	}
	for informer, synced := range s.config.customResources.Informers().WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("waiting for the informer of %s: %w", informer, s.orWhyUnlisted(starting, context.Cause(ctx)))
		}
	}
	return nil
}

// orWhyUnlisted asks for what an informer of the library's waits for in vain, which doesn't say why, and adds the answer
// to an error, unless starting ends before.
func (s *Server) orWhyUnlisted(starting context.Context, err error) error {
	ctx, cancel := context.WithTimeout(starting, ensureTimeout)
	defer cancel()
	reason := s.config.client.Discovery().RESTClient().Get().
		AbsPath(genericapiserver.APIGroupPrefix, apiextensionsv1.GroupName, "v1", "customresourcedefinitions").Param("limit", "1").Do(ctx).Error()
	if reason == nil || starting.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: the server's own requests fail: %w", err, reason)
}

// becomeReady creates what every cluster has, and waits until /readyz is content. What
// admission refuses, or doesn't answer, is tried again until serving ends: a webhook that
// is broken must not keep the server from starting, or nobody could take it away. It gives up
// when starting ends, but not before the library has started everything.
func (s *Server) becomeReady(starting, serving context.Context) error {
	ctx, giveUp := context.WithTimeout(serving, startTimeout)
	defer giveUp()
	defer context.AfterFunc(starting, func() {
		_ = s.awaitHealth(ctx, startedCheck())
		giveUp()
	})()
	ensuring, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	if err := s.ensureObjects(ensuring); isRefusal(err) || err != nil && ensuring.Err() != nil && ctx.Err() == nil {
		klog.ErrorS(err, "what every cluster has isn't all there, and is tried again")
		s.background.Go(func() { s.ensureObjectsLater(serving) })
	} else if err != nil {
		return fmt.Errorf("creating what every cluster has: %w", err)
	}
	close(s.config.bootstrapped)
	if s.config.peers != nil {
		if err := s.config.peers.Start(ctx, s.config.following); err != nil {
			return err
		}
	}
	return s.awaitHealth(ctx, "/readyz")
}

// awaitHealth waits until a health check is content.
func (s *Server) awaitHealth(ctx context.Context, check string) error {
	var answer []byte
	var last error
	err := wait.PollUntilContextCancel(ctx, 2*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		body, err := s.getHealth(ctx, check)
		if err == nil || ctx.Err() == nil {
			answer, last = body, err
		}
		return err == nil, nil
	})
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		if reasons := s.whyUnhealthy(context.WithoutCancel(ctx), check, answer); reasons != nil {
			return fmt.Errorf("waiting for %s: %w: %w", check, err, reasons)
		}
	}
	return fmt.Errorf("waiting for %s: %w (the last answer: %w)", check, err, last)
}

func (s *Server) getHealth(ctx context.Context, check string) ([]byte, error) {
	return s.config.client.Discovery().RESTClient().Get().RequestURI(check).Do(ctx).Raw()
}

// failedCheck is a line of what a health check answers of those that it consists of.
var failedCheck = regexp.MustCompile(`(?m)^\[-\](\S+) failed`)

// whyUnhealthy asks those that have failed by their own paths: a check that consists of several withholds their reasons.
func (s *Server) whyUnhealthy(ctx context.Context, check string, answer []byte) error {
	ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	var errs []error
	for _, failed := range failedCheck.FindAllSubmatch(answer, -1) {
		name := string(failed[1])
		body, err := s.getHealth(ctx, check+"/"+name)
		if err == nil {
			continue
		}
		if reason, found := strings.CutPrefix(strings.TrimSpace(string(body)), "internal server error: "); found {
			err = errors.New(reason)
		}
		err = fmt.Errorf("%s: %w", name, err)
		if strings.HasPrefix(name, "kms-provider") {
			err = s.config.options.ofEncryption(err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Server) ensureObjects(ctx context.Context) error {
	if s.creator == nil {
		return bootstrap.Ensure(ctx, s.config.client, s.bootstrap())
	}
	service := bootstrap.Service(s.bootstrap())
	if service == nil {
		return nil
	}
	_, err := s.creator.create(ctx, service)
	return err
}

// ensureObjectsLater returns when everything is there, or ctx has ended.
func (s *Server) ensureObjectsLater(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, time.Second, false, func(ctx context.Context) (bool, error) {
		return bootstrap.Ensure(ctx, s.config.client, s.bootstrap()) == nil, nil
	})
}

// isRefusal says whether all that failed was refused, or couldn't be judged because a webhook failed. A store
// that fails is none of it: nothing is known of what is there then.
func isRefusal(err error) bool {
	return err != nil && utilerrors.FilterOut(err, func(err error) bool {
		var answer apierrors.APIStatus
		if !errors.As(err, &answer) {
			return false
		}
		status := answer.Status()
		return status.Code < http.StatusInternalServerError || status.Reason == metav1.StatusReasonInternalError
	}) == nil
}

// checkBootstrapped is a health check: it fails until what every cluster has is there.
func (c *Config) checkBootstrapped(*http.Request) error {
	select {
	case <-c.bootstrapped:
		return nil
	default:
		return errors.New("what every cluster has isn't created yet")
	}
}
