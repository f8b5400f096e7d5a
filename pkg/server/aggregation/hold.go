package aggregation

// Hold interrupts the checks of other servers, and lets no check begin before release is called. A check writes the
// status of an APIService, and the restore of a snapshot must not mix with writes. A restore may change the status of
// APIServices and the certificates that other servers trust, so release starts a check of every server.
func (a *Aggregator) Hold() (release func()) {
	allow, err := a.runner.Hold(a.life)
	if err != nil { // the Aggregator has ended, so no check begins
		return func() {}
	}
	return func() {
		allow()
		for _, r := range a.remotes.all() {
			r.checkSoon()
		}
	}
}
