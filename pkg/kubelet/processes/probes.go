package processes

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// failure is why a container has to be restarted, and the probe that has failed, if one has.
type failure struct {
	reason string
	probe  *corev1.Probe
}

// monitor calls the postStart hook and the probes of a run of the container until ctx ends. It sends why the container has
// to be restarted, if it has to.
func (c *container) monitor(ctx context.Context, started time.Time, unhealthy chan<- failure) {
	if hooks := c.spec.Lifecycle; hooks != nil && hooks.PostStart != nil {
		if err := c.hook(ctx, hooks.PostStart); err != nil && ctx.Err() == nil {
			c.warn("FailedPostStartHook", "PostStartHook failed")
			unhealthy <- failure{"FailedPostStartHook", nil}
			return
		}
	}
	if probe := c.spec.StartupProbe; probe != nil {
		if !c.prober("Startup", probe, started).decide(ctx) {
			if ctx.Err() == nil {
				unhealthy <- failure{fmt.Sprintf("Container %s failed startup probe, will be restarted", c.spec.Name), probe}
			}
			return
		}
	}
	c.change(func(s *corev1.ContainerStatus) {
		if s.State.Running != nil {
			s.Started, s.Ready = new(true), c.spec.ReadinessProbe == nil
		}
	})
	var both sync.WaitGroup
	if probe := c.spec.ReadinessProbe; probe != nil {
		both.Go(func() {
			p := c.prober("Readiness", probe, started)
			for ready := true; p.until(ctx, ready); ready = !ready {
				c.change(func(s *corev1.ContainerStatus) { s.Ready = ready && s.State.Running != nil })
			}
		})
	}
	if probe := c.spec.LivenessProbe; probe != nil {
		both.Go(func() {
			if c.prober("Liveness", probe, started).until(ctx, false) {
				unhealthy <- failure{fmt.Sprintf("Container %s failed liveness probe, will be restarted", c.spec.Name), probe}
			}
		})
	}
	both.Wait()
}

// prober calls a probe of a run of a container.
type prober struct {
	*container
	kind  string // Startup, Readiness or Liveness, for Events
	probe *corev1.Probe
	next  time.Time
	// successes and failures are the numbers of the last equal results.
	successes, failures int32
}

func (c *container) prober(kind string, probe *corev1.Probe, started time.Time) *prober {
	return &prober{container: c, kind: kind, probe: probe, next: started.Add(time.Duration(probe.InitialDelaySeconds) * time.Second)}
}

// decide returns the first result that comes as often as its threshold says. At the end of ctx, it is a failure.
func (p *prober) decide(ctx context.Context) bool {
	for p.call(ctx) {
		if p.succeeded() || p.failed() {
			return p.succeeded()
		}
	}
	return false
}

// until waits until the probe has succeeded, or failed, as often as its threshold says. It returns false if ctx ends.
func (p *prober) until(ctx context.Context, success bool) bool {
	for p.call(ctx) {
		if success && p.succeeded() || !success && p.failed() {
			return true
		}
	}
	return false
}

func (p *prober) succeeded() bool { return p.successes >= max(1, p.probe.SuccessThreshold) }
func (p *prober) failed() bool    { return p.failures >= max(1, p.probe.FailureThreshold) }

// call calls the probe when it is time. It returns false if ctx ends.
func (p *prober) call(ctx context.Context) bool {
	timer := time.NewTimer(time.Until(p.next))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	p.next = time.Now().Add(time.Duration(max(1, p.probe.PeriodSeconds)) * time.Second)
	limited, cancel := context.WithTimeout(ctx, time.Duration(max(1, p.probe.TimeoutSeconds))*time.Second)
	defer cancel()
	err := p.check(limited, p.probe.ProbeHandler)
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil:
		p.successes, p.failures = p.successes+1, 0
	default:
		p.successes, p.failures = 0, p.failures+1
		text := err.Error()
		p.warn("Unhealthy", "%s probe failed: %s", p.kind, text[:min(len(text), maxOutput)])
	}
	return true
}
