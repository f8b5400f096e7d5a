package controllers

import (
	autoscalingv2client "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/cronjob"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/horizontalpodautoscaler"
	"github.com/miniapi-dev/miniapi/pkg/controllers/job"
	"github.com/miniapi-dev/miniapi/pkg/controllers/ttlafterfinished"
)

func (c *clients) batch() *batchv1client.BatchV1Client {
	return connect(c, c.account, batchv1client.NewForConfig)
}

func addCronJob(s *Set, c *clients) error {
	return cronjob.New(cronjob.Config{
		Runner:   s.runner,
		Client:   c.batch(),
		Events:   eventrecorder.NewRecorder(s.runner.Life(), c.core(), cronjob.Account),
		CronJobs: c.informers.Batch().V1().CronJobs().Informer(),
		Jobs:     c.informers.Batch().V1().Jobs().Informer(),
	})
}

func addJob(s *Set, c *clients) error {
	return s.remembering(job.New(job.Config{
		Runner:      s.runner,
		Client:      c.batch(),
		Pods:        c.pods(s, job.Account),
		JobInformer: c.informers.Batch().V1().Jobs().Informer(),
		PodInformer: c.informers.Core().V1().Pods().Informer(),
	}))
}

// remembering adds a controller that remembers something of the objects, and has to forget it after a restore.
func (s *Set) remembering(forget func(), err error) error {
	s.forget = append(s.forget, forget)
	return err
}

func addTTLAfterFinished(s *Set, c *clients) error {
	return ttlafterfinished.New(ttlafterfinished.Config{
		Runner: s.runner,
		Client: c.batch(),
		Jobs:   c.informers.Batch().V1().Jobs().Informer(),
	})
}

func addHorizontalPodAutoscaler(s *Set, c *clients) error {
	scales, err := s.scales(c)
	if err != nil {
		return err
	}
	metrics, err := horizontalpodautoscaler.NewMetrics(c.account, s.env.Mapper, s.env.Discovery)
	if err != nil {
		return err
	}
	return s.remembering(horizontalpodautoscaler.New(horizontalpodautoscaler.Config{
		Runner:      s.runner,
		Client:      connect(c, c.account, autoscalingv2client.NewForConfig),
		Events:      eventrecorder.NewRecorder(s.runner.Life(), c.core(), horizontalpodautoscaler.Account),
		Mapper:      s.env.Mapper,
		Scales:      scales,
		Metrics:     metrics,
		Autoscalers: c.informers.Autoscaling().V2().HorizontalPodAutoscalers().Informer(),
		Pods:        c.informers.Core().V1().Pods().Informer(),
	}))
}
