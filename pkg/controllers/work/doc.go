// Package work runs the work of controllers. A [Queue] has keys, such as names of objects. A few workers handle the
// keys. A key is handled again after an error, and never by two workers at the same time. A queue without keys has
// no goroutine, so a server can have many controllers.
//
// A [Runner] starts, holds and ends the work of all controllers of a server. [NewQueue] makes a queue for a Runner.
// For a controller outside of this project, use client-go's workqueue: it has metrics, and needs no Runner.
package work
