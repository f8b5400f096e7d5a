package batch

import (
	"fmt"

	"github.com/robfig/cron/v3"
)

// parseSchedule reports why the CronJob controller can't parse a schedule: both use the same parser, which panics for
// some malformed schedules, such as "TZ=0".
func parseSchedule(schedule string) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("invalid schedule format: %v", cause)
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}
