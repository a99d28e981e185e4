package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/policy/venue"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/policyfile"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/report"
)

// listVenues is the name that lists the others.
const listVenues = "list"

// mostGuard bounds --guard: no network that orders go over is that uncertain.
const mostGuard = time.Minute

// venueNames returns one line for each preset.
func venueNames() string {
	var b strings.Builder
	for _, p := range venue.All() {
		fmt.Fprintf(&b, "%-24s %s, as documented in %s\n", p.Name, p.Venue, p.Read)
	}
	return b.String()
}

// checkVenue returns the faults of --venue and --guard that are there without a
// look at any file.
func (c *replayCmd) checkVenue() (faults []error) {
	if c.Venue != "" && c.Policies != "" {
		faults = append(faults, errors.New("--venue and --policies: give one of them; change single limits of a venue with --set"))
	}
	if c.Guard < 0 || c.Guard > mostGuard {
		faults = append(faults, fmt.Errorf("--guard %v: must be 0 to %v", c.Guard, mostGuard))
	}
	if len(c.Files) == 0 && c.Venue != listVenues {
		faults = append(faults, errors.New(`expected "<file> ..."`))
	}
	return faults
}

// preset returns the preset of --venue, nil without one. An unknown name is an
// error that lists the known ones.
func (c *replayCmd) preset() (*venue.Preset, error) {
	if c.Venue == "" {
		return nil, nil
	}
	p, err := venue.Lookup(c.Venue)
	if err != nil {
		return nil, &failed{exitUsage, fmt.Errorf("--venue %s: no such venue; write one of these names:\n%s", c.Venue, strings.TrimSuffix(venueNames(), "\n"))}
	}
	set, err := policyfile.Override(p.Policies, c.Set)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, q := range set {
		if _, known := p.Policies.Lookup(q.Endpoint); !known {
			faults = append(faults, fmt.Errorf("--set: %s = %s: no message of %s draws on it; its counts are %s", q.Endpoint, q.Limits[0], p.Name, counts(p.Policies)))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	p.Policies = venue.Guard(set, c.Guard)
	return &p, nil
}

func counts(set policy.Set) string {
	var names []string
	for _, p := range set {
		names = append(names, p.Endpoint)
	}
	return strings.Join(names, ", ")
}

// describe is what the report says of a preset.
func describe(p *venue.Preset, guard time.Duration) *report.Venue {
	v := &report.Venue{Name: p.Name, Venue: p.Venue, Source: p.Source, Read: p.Read, GuardNS: int64(guard)}
	for _, m := range p.Messages {
		var draws []string
		for _, d := range m.Draws {
			cost := fmt.Sprint(d.Cost)
			if d.Cost == venue.ByCaller {
				cost = "the recorded cost"
			}
			draws = append(draws, cost+" of "+d.Endpoint)
		}
		v.Messages = append(v.Messages, report.Message{Class: m.Class, Draws: draws})
	}
	return v
}
