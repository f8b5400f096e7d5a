package local

import (
	"context"
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
)

// runningServer is a server of an Engine. It implements engine.Server.
type runningServer struct {
	server *server.Server
	info   engine.Info
	log    *log
	cancel context.CancelFunc
	ended  chan struct{} // closed when the server has stopped
	err    error         // has its value when ended is closed
}

func infoOf(s *server.Server, o *server.Options) engine.Info {
	admin := s.AdminConfig()
	info := engine.Info{
		Host: admin.Host, CA: admin.CAData, Cert: admin.CertData, Key: admin.KeyData,
		Snapshots: etcd.IsEmbedded(o.Etcd),
	}
	for service, address := range o.Admission.Services {
		info.Places = append(info.Places, engine.Place{Namespace: service.Namespace, Name: service.Name, Port: service.Port, Address: address})
	}
	return info
}

// keptOf returns the objects that the server has from its start, because an earlier server has kept
// them (engine.Server.Keep).
func keptOf(s *server.Server) []engine.Installed {
	keeper := s.Kept()
	if keeper == nil {
		return nil
	}
	objects, _ := keeper.Note().([]engine.Installed)
	return objects
}

// installedOf returns the definitions of the description that the server has stored at its start.
func installedOf(s *server.Server) []engine.Installed {
	var installed []engine.Installed
	for _, i := range s.Installed() {
		installed = append(installed, engine.Installed{Index: i.Index, Warnings: i.Warnings})
	}
	return installed
}

func (s *runningServer) begin(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(s.ended)
		s.err = s.server.Run(ctx)
	}()
}

func (s *runningServer) awaitReady(ctx context.Context) error {
	select {
	case <-s.server.Ready():
		return nil
	case <-s.ended:
		return errors.New("the server has ended before it was ready")
	case <-ctx.Done():
		return errors.New("the server wasn't ready yet")
	}
}

// Info implements engine.Server.
func (s *runningServer) Info() engine.Info { return s.info }

// User implements engine.Server.
func (s *runningServer) User(name string, groups []string) (cert, key []byte, err error) {
	config, err := s.server.UserConfig(name, groups...)
	if err != nil {
		return nil, nil, err
	}
	return config.CertData, config.KeyData, nil
}

// Keep implements engine.Server.
func (s *runningServer) Keep(ctx context.Context, objects []engine.Installed) error {
	keeper := s.server.Kept()
	if keeper == nil {
		return nil
	}
	return keeper.Keep(ctx, objects)
}

// Snapshot implements engine.Server.
func (s *runningServer) Snapshot(ctx context.Context) (engine.Snapshot, error) {
	return s.server.Snapshot(ctx)
}

// Restore implements engine.Server.
func (s *runningServer) Restore(ctx context.Context, snapshot engine.Snapshot) error {
	stored, ok := snapshot.(*server.Snapshot)
	if !ok {
		return errors.New("the snapshot is of another server: a server restores only its own snapshots")
	}
	return s.server.Restore(ctx, stored)
}

// Ended implements engine.Server.
func (s *runningServer) Ended() <-chan struct{} { return s.ended }

// Err implements engine.Server.
func (s *runningServer) Err() error {
	<-s.ended
	return s.err
}

// Stop implements engine.Server.
func (s *runningServer) Stop() error {
	defer processKlog.detach(s.log)
	s.cancel()
	<-s.ended
	return s.err
}
