package table

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Measurements is what the output of one or more runs on one machine holds.
type Measurements struct {
	Conditions Conditions
	Names      []string // in the order of the input
	Failed     []string // lines that say that a benchmark or a package failed
	samples    map[string]*samples
}

// samples are the values of one benchmark by unit: ns/op, allocs/op and others.
type samples map[string][]float64

// NewMeasurements returns an empty one.
func NewMeasurements() *Measurements {
	return &Measurements{samples: map[string]*samples{}}
}

// conditionLine is a line such as "cpu: …", in the form that go test prints. Behind
// a # it belongs to this run and not to the machine: benchstat, which compares
// only what has the same conditions, does not see it.
var conditionLine = regexp.MustCompile(`^(?:# )?([a-z][a-z0-9-]*): +(\S.*)$`)

// Read adds the output of go test -bench. Lines that are neither a result, nor
// a condition, nor a failure are passed over.
func (m *Measurements) Read(r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		if err := m.line(in.Text()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return in.Err()
}

func (m *Measurements) line(line string) error {
	if i := strings.Index(line, "--- FAIL"); i >= 0 {
		m.Failed = append(m.Failed, strings.TrimSpace(line[i:]))
		return nil
	}
	if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "panic:") {
		m.Failed = append(m.Failed, line)
		return nil
	}
	if c := conditionLine.FindStringSubmatch(line); c != nil {
		return m.Conditions.add(c[1], strings.TrimSpace(c[2]))
	}
	return m.result(strings.Fields(line))
}

// result adds a line of the form "BenchmarkName-8 1000 12.3 ns/op 0 allocs/op".
// A benchmark that has printed its name and no result yet is not one.
func (m *Measurements) result(fields []string) error {
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return nil
	}
	if _, err := strconv.ParseUint(fields[1], 10, 64); err != nil {
		return nil
	}
	name := withoutProcs(strings.TrimPrefix(fields[0], "Benchmark"))
	values := fields[2:]
	if len(values)%2 != 0 {
		return fmt.Errorf("%s: a value without a unit", fields[0])
	}
	s := m.samples[name]
	if s == nil {
		s = &samples{}
		m.samples[name] = s
		m.Names = append(m.Names, name)
	}
	for i := 0; i < len(values); i += 2 {
		v, err := strconv.ParseFloat(values[i], 64)
		if err != nil {
			return fmt.Errorf("%s: %q is not a number", fields[0], values[i])
		}
		(*s)[values[i+1]] = append((*s)[values[i+1]], v)
	}
	return nil
}

// procsSuffix is the GOMAXPROCS that go test puts behind a name unless it is 1.
var procsSuffix = regexp.MustCompile(`-[0-9]+$`)

// withoutProcs takes GOMAXPROCS from a name. It looks behind the last slash
// only, where names of this module have g=…, so that a number at the end of a
// name is not mistaken for it.
func withoutProcs(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	return name[:slash] + procsSuffix.ReplaceAllString(name[slash:], "")
}

// field returns the value of a field of a name: field("Gate/keys=1/g=2", "g")
// is "2", and "" when there is none.
func field(name, key string) string {
	for part := range strings.SplitSeq(name, "/") {
		if v, ok := strings.CutPrefix(part, key+"="); ok {
			return v
		}
	}
	return ""
}

// family returns the benchmark's function: Floor, Gate, Seed or Peer.
func family(name string) string {
	f, _, _ := strings.Cut(name, "/")
	return f
}
