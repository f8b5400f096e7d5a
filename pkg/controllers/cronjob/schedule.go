package cronjob

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

const (
	// margin is the time after a time of the schedule at which the controller looks at the CronJob.
	margin = 100 * time.Millisecond
	// manyPassed is the number of passed times of a schedule above which the controller warns.
	manyPassed = 100
)

// hasZone reports whether a schedule has a time zone.
func hasZone(schedule string) bool { return strings.Contains(schedule, "TZ") }

// locationOf returns the time zone of a CronJob. If spec.timeZone is unset or unknown, it returns UTC.
func locationOf(cronJob *batchv1.CronJob) *time.Location {
	location, err := time.LoadLocation(ptr.Deref(cronJob.Spec.TimeZone, ""))
	if err != nil {
		return time.UTC
	}
	return location
}

// parse returns the schedule of a CronJob, in its time zone. The parser panics for some malformed schedules, which the
// server refuses, but which it may have stored in an older version.
func parse(cronJob *batchv1.CronJob) (schedule cron.Schedule, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("invalid schedule format: %v", cause)
		}
	}()
	text, zone := cronJob.Spec.Schedule, ptr.Deref(cronJob.Spec.TimeZone, "")
	if _, unknown := time.LoadLocation(zone); zone != "" && unknown == nil && !hasZone(text) {
		text = fmt.Sprintf("TZ=%s %s", zone, text)
	}
	return cron.ParseStandard(text)
}

// passed has the times of a schedule that have passed since a time.
type passed struct {
	since time.Time
	// last is the last time that has passed, or the zero time. count is an estimate of their number, which assumes that
	// the times have the distance of the first two.
	last  time.Time
	count int64
}

// passedTimes returns the times of a schedule that have passed since the last Job of a CronJob, or since the creation of
// the CronJob. Times that passed before the deadline, which may be nil, don't count.
func passedTimes(cronJob *batchv1.CronJob, now time.Time, schedule cron.Schedule, deadline *int64) (passed, error) {
	p := passed{since: cronJob.CreationTimestamp.Time}
	if last := cronJob.Status.LastScheduleTime; last != nil {
		p.since = last.Time
	}
	if deadline != nil {
		if earliest := now.Add(-time.Duration(*deadline) * time.Second); earliest.After(p.since) {
			p.since = earliest
		}
	}
	first := schedule.Next(p.since)
	second := schedule.Next(first)
	if now.Before(first) {
		return p, nil
	}
	if now.Before(second) {
		p.last = first
		return p, nil
	}
	// A schedule without times, such as one of 31 February, has the zero time twice.
	distance := int64(second.Sub(first).Round(time.Second).Seconds())
	if distance < 1 {
		return p, errors.New("time difference between two schedules is less than 1 second")
	}
	p.count = int64(now.Sub(first).Seconds())/distance + 1
	// The estimated last time less one distance is early enough for a schedule whose distances differ. A multiple of the
	// distance after the first time keeps the times of "@every".
	for at := schedule.Next(first.Add(time.Duration((p.count-2)*distance) * time.Second)); !at.After(now); at = schedule.Next(at) {
		p.last = at
	}
	return p, nil
}

// untilNext returns the time until the controller must look at a CronJob for the next time of its schedule.
func untilNext(cronJob *batchv1.CronJob, now time.Time, schedule cron.Schedule) time.Duration {
	from := now
	if p, err := passedTimes(cronJob, now, schedule, nil); err == nil && !p.last.IsZero() {
		from = p.last
	} else if err == nil && p.count == 0 {
		from = p.since
	}
	return schedule.Next(from).Add(margin).Sub(now)
}
