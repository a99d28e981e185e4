//go:build linux

package faults

import "testing"

func TestStartups(t *testing.T) {
	for _, s := range Startups() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			err, took := s.Try(t)
			t.Logf("%v after %v", err, took)
			if wrong := s.Judge(err, took); wrong != nil {
				t.Error(wrong)
			}
		})
	}
}

// What is measured is printed, and fails only where it cannot be measured.
func TestMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("ten seconds")
	}
	for _, m := range Measures() {
		t.Run(m.Name, func(t *testing.T) {
			for _, f := range m.Run(t, 0) {
				t.Logf("%s: %s %s %s", f.Name, f.Value, f.Wanted, f.Met)
			}
		})
	}
}
