package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// settings gives flags values that are not on the command line: from the environment,
// and where that has none from the file of --config.
//
//	listen: 127.0.0.1:8080        TICKGATE_LISTEN=127.0.0.1:8080
//	set:                          TICKGATE_SET="POST /orders=10/s
//	  - POST /orders=10/s         default=50/s"
//	  - default=50/s
//
// It is for serve and check-config, and of pg init the database alone.
type settings struct {
	lookup func(string) (string, bool)

	from   map[string]string // flag to where its value is from
	looked bool              // at the command line
	read   bool              // the file was
	file   map[string]any
	err    error // of the file, and of texts that are none
}

// variablePrefix is what the names of variables begin with.
const variablePrefix = "TICKGATE_"

// Validate is of kong.Resolver.
func (*settings) Validate(*kong.Application) error { return nil }

// Resolve is of kong.Resolver. Values are text, or lists of such.
func (s *settings) Resolve(parsed *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !s.looked {
		s.looked = true
		s.err = garbled(parsed)
	}
	command := commandOf(parsed)
	whole := command == "serve" || command == "check-config"
	if flag.Name == "help" || flag.Name == "connect" || !whole && !(command == "pg" && flag.Name == "postgres") {
		return nil, nil
	}
	if text, ok := s.lookup(variableOf(flag.Name)); ok {
		s.note(flag.Name, variableOf(flag.Name))
		if !utf8.ValidString(text) {
			s.err = errors.Join(s.err, notUTF8(variableOf(flag.Name)))
		}
		return asList(flag, text), nil
	}
	if !whole || flag.Name == "config" {
		return nil, nil
	}
	if !s.read {
		s.read = true
		if path := s.path(parsed); path != "" {
			var err error
			s.file, err = readSettings(path, parsed.Selected().AllFlags(true))
			s.err = errors.Join(s.err, err)
		}
	}
	value, ok := s.file[flag.Name]
	if ok {
		s.note(flag.Name, "the file of --config")
	}
	return value, nil
}

// garbled returns the faults of values of flags on the command line that are not UTF-8.
// The parser puts other characters in the place of what is none, so that the name of an
// endpoint, or of a file, would be another one.
func garbled(parsed *kong.Context) error {
	var faults []error
	before := ""
	for _, arg := range parsed.Args {
		name, _, whole := strings.Cut(arg, "=")
		if !strings.HasPrefix(arg, "--") {
			name, whole = before, true
		}
		if before = ""; !whole {
			before = name // its value comes next
		}
		if utf8.ValidString(arg) {
			continue
		}
		for _, one := range parsed.Flags() {
			if "--"+one.Name == name && !one.IsBool() {
				faults = append(faults, notUTF8(name))
			}
		}
	}
	return errors.Join(faults...)
}

func notUTF8(name string) error { return fmt.Errorf("%s: is not UTF-8; write it in UTF-8", name) }

func (s *settings) note(flag, from string) {
	if s.from == nil {
		s.from = map[string]string{}
	}
	s.from[flag] = from
}

// explain adds to faults of flags where their values are from, if that is not the
// command line.
func (s *settings) explain(err error) error {
	var faults []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "--"), ":")
		name, _, _ = strings.Cut(name, " ")
		if from := s.from[name]; from != "" && strings.HasPrefix(line, "--") {
			line += " (given by " + from + ")"
		}
		faults = append(faults, errors.New(line))
	}
	return errors.Join(faults...)
}

// variableOf is the variable of a flag: TICKGATE_TLS_CERT of --tls-cert.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// asList splits the value of a flag that may be given several times into its lines.
func asList(flag *kong.Flag, text string) any {
	if !isList(flag) {
		return text
	}
	list := []any{}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" || text == "" { // "" is refused as such
			list = append(list, line)
		}
	}
	return list
}

func isList(flag *kong.Flag) bool { return flag.Target.Kind() == reflect.Slice }

// path is the file of --config.
func (s *settings) path(parsed *kong.Context) string {
	for _, p := range parsed.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			path, _ := parsed.FlagValue(p.Flag).(string)
			return path
		}
	}
	if path, ok := s.lookup(variableOf("config")); ok {
		return path
	}
	return ""
}

// commandOf is the first word of the command.
func commandOf(parsed *kong.Context) string {
	for _, p := range parsed.Path {
		if p.Command != nil {
			return p.Command.Name
		}
	}
	return ""
}

// maxSettings is the longest file, in bytes.
const maxSettings = 1 << 20

// readSettings reads a file of flags. It reports every fault with its line.
func readSettings(path string, flags [][]*kong.Flag) (map[string]any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	if len(text) > maxSettings {
		return nil, fmt.Errorf("--config %s: is longer than %d bytes", path, maxSettings)
	}
	known := map[string]*kong.Flag{}
	for _, group := range flags {
		for _, one := range group {
			if !slices.Contains([]string{"help", "config", "connect"}, one.Name) {
				known[one.Name] = one
			}
		}
	}
	values, faults := parseSettings(text, known)
	for i, fault := range faults {
		faults[i] = fmt.Errorf("--config %s: %w", path, fault)
	}
	return values, errors.Join(faults...)
}

func parseSettings(text []byte, known map[string]*kong.Flag) (map[string]any, []error) {
	var root, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil // empty: nothing is set
		}
		return nil, []error{errors.New(strings.TrimPrefix(err.Error(), "yaml: "))}
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, []error{errors.New("must be one document")}
	}
	top := root.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, []error{fmt.Errorf("line %d: must be flags by their names, as in listen: 127.0.0.1:8080", top.Line)}
	}
	values := map[string]any{}
	var faults []error
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, node := top.Content[i], top.Content[i+1]
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("line %d: %.60q %s", node.Line, key.Value, fmt.Sprintf(format, args...)))
		}
		flag := known[key.Value]
		_, twice := values[key.Value]
		switch {
		case flag == nil:
			faults = append(faults, fmt.Errorf("line %d, column %d: there is no %.60q; tickgate serve --help lists what there is", key.Line, key.Column, key.Value))
		case twice:
			fault("is there twice")
		case isList(flag) && node.Kind == yaml.SequenceNode:
			list := []any{}
			for _, item := range node.Content {
				if !scalar(item) {
					fault("must be a list of texts")
					break
				}
				list = append(list, item.Value)
			}
			values[key.Value] = list
		case !scalar(node):
			fault("must be one value")
		case isList(flag):
			values[key.Value] = []any{node.Value}
		default:
			values[key.Value] = node.Value
		}
	}
	return values, faults
}

// scalar reports whether a value is a text or a number that is there.
func scalar(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Anchor == "" && n.ShortTag() != "!!null"
}
