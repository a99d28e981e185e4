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

// Load reads a policy set from a file, as [Parse] does.
func Load(file string) (policy.Set, error) {
	text, err := Read(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text)
}

// Read returns the text of a regular file, or of the one that a chain of symbolic
// links ends at, with at most one byte more than [Parse] takes. Anything else, such
// as a pipe, is an error: opening it could block for ever.
func Read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, policy.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}

// Parse reads a policy set from the text of a file. A name that ends in .yaml or
// .yml is YAML, one in .json JSON; any other is JSON if it starts with a bracket or a
// brace. A text longer than [policy.MaxBytes] is an error. Every fault is reported,
// each on a line of its own that starts with the name and the place in the text.
func Parse(name string, text []byte) (policy.Set, error) {
	set, err := parse(text, isYAML(name, text))
	if err != nil {
		return nil, prefix(name, err)
	}
	return set, nil
}

func isYAML(name string, text []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
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
	for _, e := range Faults(err) {
		var place *policy.ParseError
		if errors.As(e, &place) {
			e = fmt.Errorf("line %d: %w", place.Line, place.Err)
		}
		faults = append(faults, e)
	}
	return errors.Join(faults...)
}

// Faults returns the faults that are joined in err: none of nil, and err itself where it
// joins nothing.
func Faults(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func prefix(name string, err error) error {
	var faults []error
	for _, e := range Faults(err) {
		faults = append(faults, fmt.Errorf("%s: %w", name, e))
	}
	return errors.Join(faults...)
}
