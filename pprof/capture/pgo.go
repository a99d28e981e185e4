package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/tickgate/tickgate/pprof/internal/load"
	"github.com/tickgate/tickgate/pprof/internal/record"
)

// replayShare is how much longer the replay runs than one path.
const replayShare = 20

// writePGO writes a CPU profile for the compiler: of the paths, and of a replay by the
// command. The runtime samples allocations and locks at its usual rates meanwhile,
// so that the profile is of the program as it is used.
func writePGO(name string, groups []load.Group, each time.Duration, workers int, progress io.Writer) error {
	var all []*profile.Profile
	for _, g := range groups {
		fmt.Fprintln(progress, "profiling", g.Name)
		s, err := record.Start()
		if err != nil {
			return err
		}
		var faults []error
		for _, c := range g.Cases {
			if _, err := c.Run(each, workers, nil); err != nil {
				faults = append(faults, err)
			}
		}
		r, err := s.Stop()
		if err := errors.Join(append(faults, err)...); err != nil {
			return err
		}
		profiles, err := r.Profiles()
		if err != nil {
			return err
		}
		all = append(all, profiles["cpu"])
	}
	fmt.Fprintln(progress, "profiling tickgate replay")
	p, err := profileReplay(replayShare * each)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	p, err = profile.Merge(append(all, p))
	if err != nil {
		return err
	}
	strip(p)
	return create(name, p.Write)
}

// strip takes off what the compiler does not use: labels, addresses and the names of
// files, which are those of this machine. It goes by functions and lines.
func strip(p *profile.Profile) {
	for _, s := range p.Sample {
		s.Label, s.NumLabel, s.NumUnit = nil, nil, nil
	}
	for _, f := range p.Function {
		f.Filename = ""
	}
	for _, l := range p.Location {
		l.Mapping = nil
	}
	p.Mapping, p.Comments, p.TimeNanos = nil, nil, 0
}
