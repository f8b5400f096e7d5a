package health

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// reasonTimeout bounds how long Await asks why a check fails.
const reasonTimeout = 30 * time.Second

// Client asks a server for its health.
type Client struct {
	REST rest.Interface
	// OfEncryption names the flag by which what is stored is encrypted in an error about that.
	OfEncryption func(error) error
}

// Await waits until the health check at a path is content.
func (s Client) Await(ctx context.Context, check string) error {
	var answer []byte
	var last error
	err := wait.PollUntilContextCancel(ctx, 2*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		body, err := s.get(ctx, check)
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

func (s Client) get(ctx context.Context, check string) ([]byte, error) {
	return s.REST.Get().RequestURI(check).Do(ctx).Raw()
}

// failedCheck is a line of what a health check answers of those that it consists of.
var failedCheck = regexp.MustCompile(`(?m)^\[-\](\S+) failed`)

// whyUnhealthy asks those that have failed by their own paths: a check that consists of several withholds their reasons.
func (s Client) whyUnhealthy(ctx context.Context, check string, answer []byte) error {
	ctx, cancel := context.WithTimeout(ctx, reasonTimeout)
	defer cancel()
	var errs []error
	for _, failed := range failedCheck.FindAllSubmatch(answer, -1) {
		name := string(failed[1])
		body, err := s.get(ctx, check+"/"+name)
		if err == nil {
			continue
		}
		if reason, found := strings.CutPrefix(strings.TrimSpace(string(body)), "internal server error: "); found {
			err = errors.New(reason)
		}
		err = fmt.Errorf("%s: %w", name, err)
		if strings.HasPrefix(name, "kms-provider") {
			err = s.OfEncryption(err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
