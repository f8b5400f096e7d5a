package server

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// seeders is how many objects are prepared at once, which is work for the processors.
const seeders = 8

// seed stores what every cluster has, but for its Service, if nothing has been stored yet, which only an
// embedded etcd can know, and if admission isn't configured to have a say. Informers, which haven't started, find
// it in their first lists. Without a creator, it has left everything to requests.
func (s *Server) seed(ctx context.Context) error {
	if s.config.member == nil || s.config.options.Admission.ConfigFile != "" {
		return nil
	}
	namespaces := s.config.member.Feed(corev1.Resource("namespaces"))
	if namespaces == nil {
		return nil
	}
	stored, _, err := namespaces.List(ctx)
	if err != nil && s.config.member.Healthy(ctx) == nil {
		return s.config.options.ofEncryption(err) // etcd answers, so it is what is stored that can't be read
	}
	if err != nil || len(stored) > 0 {
		return err
	}
	objects, err := bootstrap.Objects(s.bootstrap())
	if err != nil {
		return err
	}
	c := newCreator(s.groups, s.config.member)
	records := make([]storage.Record, len(objects))
	group, recordCtx := errgroup.WithContext(ctx)
	for first := range seeders {
		// A goroutine for each object would grow its stack first.
		group.Go(func() (err error) {
			for i := first; i < len(objects) && err == nil; i += seeders {
				records[i], err = c.record(recordCtx, objects[i])
			}
			return err
		})
	}
	if err := group.Wait(); isRefusal(err) {
		return nil // requests create the rest, and tell what is refused
	} else if err != nil {
		return err
	}
	if err := s.config.member.Create(ctx, records); errors.Is(err, storage.ErrExists) {
		return nil
	} else if err != nil {
		return err
	}
	s.creator = c
	return nil
}
