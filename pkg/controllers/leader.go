package controllers

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

const (
	// leaseName is the name of the Lease that a program needs to run controllers. kube-controller-manager uses
	// the same Lease. Therefore, it never works at the same time as these controllers on the same etcd.
	leaseName = "kube-controller-manager"

	// These values are the defaults of kube-controller-manager.
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryLease    = 2 * time.Second
)

// lead starts the work of the controllers. If several servers share an etcd, the controllers work only while
// this server holds the Lease.
func (s *Set) lead() error {
	if !s.env.Shared {
		s.open()
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading the name of this host, for the Lease %s: %w", leaseName, err)
	}
	client, err := coordinationv1client.NewForConfig(s.env.ConfigOf(User))
	if err != nil {
		return err
	}
	var turn sync.Mutex // locked while the controllers of this server work
	config := leaderelection.LeaderElectionConfig{
		Name: leaseName,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: leaseName},
			Client:     client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryLease,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			// client-go calls the function in a goroutine that it doesn't wait for. Close waits for the goroutines of the
			// runner.
			OnStartedLeading: func(ctx context.Context) { s.runner.Go(func() { s.work(ctx, &turn) }) },
			OnStoppedLeading: func() {},
		},
	}
	elector, err := leaderelection.NewLeaderElector(config)
	if err != nil {
		return err
	}
	leading, leave := context.WithCancel(s.runner.Life())
	left := make(chan struct{})
	s.leave = func(ctx context.Context) {
		// End this server's work before another server's controllers begin. If the work goes on until ctx ends, this server
		// doesn't release the Lease, which then expires later.
		if _, err := s.runner.Hold(ctx); err != nil {
			return
		}
		s.lose()
		leave()
		select {
		case <-left:
		case <-ctx.Done():
		}
	}
	s.runner.Go(func() {
		defer close(left)
		for leading.Err() == nil {
			elector.Run(leading)
		}
	})
	return nil
}

// work lets the controllers work until ctx ends, which is when this server loses the Lease.
func (s *Set) work(ctx context.Context, turn *sync.Mutex) {
	turn.Lock()
	defer turn.Unlock()
	if !s.caughtUp(ctx) {
		return
	}
	s.open()
	<-ctx.Done()
	if open, err := s.runner.Hold(s.runner.Life()); err == nil {
		s.open = open
		s.lose()
	}
}

// lose ends what goes on without the work of the controllers. The work must be held.
func (s *Set) lose() {
	for _, end := range s.lost {
		end()
	}
}

// caughtUp waits until the informers have what the last holder of the Lease has stored. Without the wait, a ReplicaSet
// whose last pods haven't reached the informers would get these pods twice. caughtUp returns false if ctx ends before.
func (s *Set) caughtUp(ctx context.Context) bool {
	err := wait.PollUntilContextCancel(ctx, retryLease, true, func(ctx context.Context) (bool, error) {
		err := s.env.CatchUp(ctx)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "The controllers don't work yet: the informers may lack objects that another server has stored")
		}
		return err == nil, nil
	})
	return err == nil
}
