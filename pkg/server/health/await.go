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

// reasonTimeout limits the time in which Await requests the reasons of failing checks.
const reasonTimeout = 30 * time.Second

// Client reads the health checks of a server.
type Client struct {
	REST rest.Interface
	// OfEncryption adds the name of the flag --encryption-provider-config to an error about the encryption of stored
	// objects.
	OfEncryption func(error) error
}

// Await waits until the health check at a path succeeds. If the deadline of ctx passes before, the error has the
// reasons of the failed checks. If there are no reasons, or if ctx ends in another way, the error has the last answer.
func (s Client) Await(ctx context.Context, check string) error {
	var answer []byte
	var last error
	err := wait.PollUntilContextCancel(ctx, 2*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		body, err := s.get(ctx, check)
		// A request that the end of ctx has cut off has no answer, so an earlier answer counts.
		if last == nil || ctx.Err() == nil {
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

// failedCheck matches the line of a failed check in the response of a path that runs several checks, such as /readyz.
var failedCheck = regexp.MustCompile(`(?m)^\[-\](\S+) failed`)

// whyUnhealthy returns an error with the reason of each failed check. The response of a path that runs several checks
// has no reasons, so whyUnhealthy requests each failed check's own path.
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
