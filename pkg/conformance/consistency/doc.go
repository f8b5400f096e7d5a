// Package consistency is the suite of cases that check what an API server promises to concurrent clients: that its
// objects are linearizable, that its lists are snapshots, and that its watches are complete.
//
// [Record] has clients write and read objects of a namespace of their own, and watch them, at the same time. It returns
// the [History] of all requests, answers and events. Meanwhile, the caller may kill servers, or cut connections: a
// request without an answer has an unknown outcome. [Cases] are the promises that a history is checked against. A
// history also has a [Coverage], because a run that has seen no conflict or no interrupted watch proves little.
//
// The checks need resource versions that are numbers and grow with each write of a resource (KEP-5504). They know every
// write to the objects by a text that no other write has, so no other client may write to these objects.
//
// Don't use the package to measure a server: its clients wait for nothing, but they record everything.
package consistency
