package controllers

import (
	"github.com/miniapi-dev/miniapi/pkg/controllers/ephemeralvolume"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/persistentvolume"
	"github.com/miniapi-dev/miniapi/pkg/controllers/volumeprotection"
)

func addVolumes(s *Set, c *clients) error {
	client := c.core()
	return persistentvolume.New(persistentvolume.Config{
		Runner:  s.runner,
		Client:  client,
		Events:  eventrecorder.NewRecorder(s.runner.Life(), client, persistentvolume.Component),
		Claims:  c.informers.Core().V1().PersistentVolumeClaims().Informer(),
		Volumes: c.informers.Core().V1().PersistentVolumes().Informer(),
		Classes: c.informers.Storage().V1().StorageClasses().Informer(),
		Pods:    c.informers.Core().V1().Pods().Informer(),
	})
}

func addEphemeralVolumes(s *Set, c *clients) error {
	client := c.core()
	return ephemeralvolume.New(ephemeralvolume.Config{
		Runner: s.runner,
		Client: client,
		Events: eventrecorder.NewRecorder(s.runner.Life(), client, ephemeralvolume.Component),
		Pods:   c.informers.Core().V1().Pods().Informer(),
		Claims: c.informers.Core().V1().PersistentVolumeClaims().Informer(),
	})
}

func addClaimProtection(s *Set, c *clients) error {
	return volumeprotection.NewClaims(volumeprotection.ClaimConfig{
		Runner: s.runner,
		Client: c.core(),
		Claims: c.informers.Core().V1().PersistentVolumeClaims().Informer(),
		Pods:   c.informers.Core().V1().Pods().Informer(),
	})
}

func addVolumeProtection(s *Set, c *clients) error {
	return volumeprotection.NewVolumes(volumeprotection.VolumeConfig{
		Runner: s.runner, Client: c.core(), Volumes: c.informers.Core().V1().PersistentVolumes().Informer(),
	})
}
