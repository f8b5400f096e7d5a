package server

import (
	"context"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/seed"
)

// seed stores the objects that every cluster has, except for the Service "kubernetes", in an empty embedded etcd. If
// the etcd is external or has objects, or if a configuration of admission could refuse the objects, seed stores
// nothing, and the start creates the objects by requests. seed also stores the definitions of the options, and copies
// of objects that an earlier server has kept, unless they need requests.
func (s *Server) seed(ctx context.Context) (err error) {
	c := s.config
	if !c.etcd.Embedded() || c.options.Admission.ConfigFile != "" {
		return nil
	}
	seeder := seed.Seeder{Writer: s.writer, Member: c.etcd.Member(), Copies: shared.copies, Settings: c.options.globals.Key(), Unreadable: c.options.ofEncryption}
	if s.seeded, err = seeder.Seed(ctx, clusterConfig(c)); err != nil || !s.seeded || !c.canInstall() {
		return err
	}
	s.installed, err = c.apis.customResources.Install(ctx, customresources.Installation{
		Definitions: c.options.Definitions.JSON, Prepared: shared.definitions, Settings: c.options.globals.Key(),
		FieldManager: c.options.Definitions.FieldManager,
	})
	if err != nil || !c.canKeep() || len(s.installed) < len(c.options.Definitions.JSON) {
		return err
	}
	s.kept = &seed.Keeper{
		Sets: shared.kept, Name: c.options.globals.Key() + " " + c.options.Kept,
		Member: c.etcd.Member(), Root: c.etcd.Root(), Scheme: builtin.Table().Scheme(), Written: c.written,
	}
	return s.kept.Store(ctx)
}

// canKeep reports whether the server may store copies of an earlier server's objects directly, without requests. It
// returns false if no name is given, if each object needs a request, if controllers work on the objects, or if stored
// objects are encrypted.
func (c *Config) canKeep() bool {
	return c.options.Kept != "" && !c.seesItself() && len(c.options.Controllers) == 0 && c.options.Etcd.EncryptionProviderConfigFilepath == ""
}

// canInstall reports whether the server may store objects directly, without requests. It returns false if each object
// needs a request: for audit, for a log of requests, or for the plugin AlwaysDeny.
func (c *Config) canInstall() bool {
	return c.generic.AuditBackend == nil && c.options.LogRequest == nil && !c.options.Admission.Runs("AlwaysDeny")
}
