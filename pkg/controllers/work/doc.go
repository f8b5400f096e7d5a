// Package work runs the work of controllers. A few workers handle keys, again after an error, and never the same key at
// the same time. An idle queue has no goroutine, so a server can have many controllers.
//
// A [Runner] starts, holds and ends the work of all controllers of a server; [NewQueue] makes a queue of it. Use
// client-go's workqueue for a controller of your own: it has metrics, and needs no Runner.
package work
