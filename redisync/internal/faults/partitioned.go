//go:build linux

package faults

// partitioned are the rows in which nodes cannot reach a Redis that is well.
func partitioned() []Scenario {
	// One node grants its share beside the others, who have all of it.
	one := func(s *Scenario) {
		away(s)
		s.Expect.Admitted = 0.85
		if s.Mode == Strict {
			s.Expect.Admitted = 0.7
		}
		s.Disturb = func(b *Bench) {
			b.Until(0.2)
			b.Links[0].Hold(true, true)
			b.Until(0.6)
			b.Links[0].Heal()
		}
	}
	all := func(s *Scenario) {
		away(s)
		s.Disturb = func(b *Bench) {
			b.Until(0.2)
			b.EachLink(func(l *Link) { l.Hold(true, true) })
			b.Until(0.6)
			b.EachLink((*Link).Heal)
		}
	}
	// Redis hears the nodes, and they do not hear it.
	deaf := func(s *Scenario) {
		away(s)
		s.Disturb = func(b *Bench) {
			b.Until(0.2)
			b.EachLink(func(l *Link) { l.Hold(false, true) })
			b.Until(0.6)
			b.EachLink((*Link).Reset)
			b.EachLink((*Link).Heal)
		}
	}
	resets := func(s *Scenario) {
		s.Disturb = func(b *Bench) {
			for part := 0.1; part < 0.9; part += 0.05 {
				b.Until(part)
				b.EachLink((*Link).Reset)
			}
		}
		s.Expect.Admitted = 0.9
	}
	var rows []Scenario
	for _, row := range []struct {
		name, fault string
		with        func(s *Scenario)
		modes       []Mode
	}{
		{"partition-one", "one node cut off", one, []Mode{Credit, Lease, Strict}},
		{"partition-all", "all nodes cut off, what was sent arrives late", all, []Mode{Credit, Lease, Strict}},
		{"deaf", "all replies held, then lost", deaf, []Mode{Credit, Lease, Strict}},
		{"resets", "all connections reset, over and over", resets, []Mode{Credit, Lease}},
	} {
		for _, m := range row.modes {
			rows = append(rows, usual(row.name, m, row.fault).with(row.with))
		}
	}
	return rows
}
