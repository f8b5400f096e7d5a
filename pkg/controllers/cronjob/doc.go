// Package cronjob is the controller cronjob-controller: it makes the Jobs of a CronJob at the times of its schedule, and
// deletes the oldest Jobs that have ended.
//
// [New] starts the controller.
package cronjob
