// Package policyfile reads policy sets from files, as pgconfig/policyfile does but also
// from pipes, and applies the overrides of a command line.
package policyfile

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tickgate/tickgate/adapter/pgconfig/policyfile"
	"github.com/tickgate/tickgate/policy"
)

// Load reads a policy set. A name that ends in .yaml or .yml is YAML, one in
// .json JSON; any other is JSON if it starts with a bracket or a brace. Every
// fault is reported, each on a line of its own that starts with the file and
// the place in it.
func Load(file string) (policy.Set, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, policy.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return policyfile.Parse(file, text)
}

// Read returns the policies of a command line: those of file, or a copy of builtIn
// where file is empty, with the assignments applied as [Override] does. Faults of the
// assignments are reported beside those of the file.
func Read(builtIn policy.Set, file string, assignments []string) (policy.Set, error) {
	set, loading := builtIn, error(nil)
	if file != "" {
		set, loading = Load(file)
	}
	set, assigning := Override(set, assignments)
	if err := errors.Join(append(policyfile.Faults(loading), policyfile.Faults(assigning)...)...); err != nil {
		return nil, err
	}
	return set, nil
}

// Override returns set with the assignments "endpoint=limit" applied. An
// endpoint's limits are replaced as a whole, or added where it had none; one
// that is assigned more than once gets all of the limits, and all must pass.
// Credit and shadow mode stay as they were. Every fault is reported.
func Override(set policy.Set, assignments []string) (policy.Set, error) {
	var faults []error
	assigned := map[string]bool{}
	for _, a := range assignments {
		endpoint, limit, err := policy.ParseAssign(a)
		if err != nil {
			faults = append(faults, fmt.Errorf("--set: %w", err))
			continue
		}
		p, _ := set.Lookup(endpoint)
		p = p.Clone()
		p.Endpoint = endpoint
		if !assigned[endpoint] {
			p.Limits = nil
		}
		assigned[endpoint] = true
		p.Limits = append(p.Limits, limit)
		set = set.With(p)
	}
	if len(faults) == 0 && len(assignments) > 0 {
		for _, e := range policyfile.Faults(set.Validate()) {
			faults = append(faults, fmt.Errorf("--set: %w", e))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return set, nil
}
