package cronjob

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

func TestPassedTimes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, schedule string
		last                   float64 // the minutes of status.lastScheduleTime, or 0
		deadline               *int64
		now                    float64 // in minutes
		want                   float64 // the minutes of the last time, or 0
		count                  int64
		next                   time.Duration
	}{
		{"none", "no time has passed", "*/10 * * * *", 0, nil, 9, 0, 0, time.Minute},
		{"one", "a single time isn't missed", "*/10 * * * *", 0, nil, 11, 10, 0, 9 * time.Minute},
		{"exact", "a time has passed as soon as it is reached", "*/10 * * * *", 0, nil, 10, 10, 0, 10 * time.Minute},
		{"several", "the last time counts", "*/10 * * * *", 0, nil, 35, 30, 3, 5 * time.Minute},
		{"after the last Job", "earlier times have their Job", "*/10 * * * *", 30, nil, 35, 0, 0, 5 * time.Minute},
		{"deadline", "times before the deadline don't count", "*/10 * * * *", 0, new(int64(60)), 35, 0, 0, 5 * time.Minute},
		{"every", "an interval begins at the creation", "@every 7m", 0, nil, 30, 28, 4, 5 * time.Minute},
		{"every, last", "an interval begins at the last Job", "@every 7m", 3, nil, 30, 24, 3, time.Minute},
		{"uneven", "the estimate can skip the last times before a longer distance", "30 6-16/4 * * 1-5", 0, nil, 3 * 24 * 60, 0, 5, 6*time.Hour + 30*time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cronJob := cronJobOf(func(c *batchv1.CronJob) {
				c.Spec.Schedule, c.Spec.StartingDeadlineSeconds = test.schedule, test.deadline
				if test.last != 0 {
					c.Status.LastScheduleTime = at(test.last)
				}
			})
			schedule, err := parse(cronJob)
			if err != nil {
				t.Fatal(err)
			}
			now := at(test.now).Time
			passed, err := passedTimes(cronJob, now, schedule, test.deadline)
			var want time.Time
			if test.want != 0 {
				want = at(test.want).Time
			}
			if err != nil || !passed.last.Equal(want) || passed.count != test.count {
				t.Errorf("%s: want %s and a count of %d, got %s and %d, %v", test.reason, want, test.count, passed.last, passed.count, err)
			}
			if got := untilNext(cronJob, now, schedule); got != test.next+margin {
				t.Errorf("%s: want a look after %s, got %s", test.reason, test.next+margin, got)
			}
		})
	}
}
