// Package policyfile reads policy sets from files, JSON or a subset of YAML,
// and applies the overrides of a command line.
package policyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
	set, err := parse(text, isYAML(file, text))
	if err != nil {
		return nil, prefix(file, err)
	}
	return set, nil
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
	if err := errors.Join(append(split(loading), split(assigning)...)...); err != nil {
		return nil, err
	}
	return set, nil
}

func isYAML(file string, text []byte) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return true
	case ".json":
		return false
	}
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] != '[' && text[0] != '{'
}

func parse(text []byte, yaml bool) (policy.Set, error) {
	if len(text) > policy.MaxBytes {
		return nil, fmt.Errorf("longer than %d bytes", policy.MaxBytes)
	}
	if !yaml {
		return policy.ParsePolicies(bytes.NewReader(text))
	}
	text, err := toJSON(text)
	if err != nil {
		return nil, err
	}
	set, err := policy.ParsePolicies(bytes.NewReader(text))
	return set, yamlPlaces(err)
}

// yamlPlaces drops the columns from faults found in converted text: its lines
// are those of the YAML, its columns are not.
func yamlPlaces(err error) error {
	var faults []error
	for _, e := range split(err) {
		var place *policy.ParseError
		if errors.As(e, &place) {
			e = fmt.Errorf("line %d: %w", place.Line, place.Err)
		}
		faults = append(faults, e)
	}
	return errors.Join(faults...)
}

// split returns the faults joined in err.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func prefix(file string, err error) error {
	var faults []error
	for _, e := range split(err) {
		faults = append(faults, fmt.Errorf("%s: %w", file, e))
	}
	return errors.Join(faults...)
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
		for _, e := range split(set.Validate()) {
			faults = append(faults, fmt.Errorf("--set: %w", e))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return set, nil
}
