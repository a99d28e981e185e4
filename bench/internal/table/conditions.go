package table

import "fmt"

// Conditions describe the machine and the run, in the order of the input.
type Conditions []Condition

// Condition is one line "key: value".
type Condition struct {
	Key, Value string
}

// ofMachine are the conditions without which two figures cannot be compared.
var ofMachine = map[string]bool{
	"cpu": true, "cpu-model": true, "virtual": true, "kernel": true, "goos": true, "goarch": true, "go": true, "gomaxprocs": true,
	"gogc": true, "gomemlimit": true, "clocksource": true, "hugepages": true, "commit": true,
}

// add notes a condition. It is an error when the machine, the toolchain or the
// code is another than before in the input; of other conditions the first stays.
func (c *Conditions) add(key, value string) error {
	have, ok := c.Get(key)
	if ok && have != value && ofMachine[key] {
		return fmt.Errorf("%s is %q here and %q before: give only runs of one machine, one toolchain and one commit", key, value, have)
	}
	c.SetDefault(key, value)
	return nil
}

// SetDefault notes a condition unless it is known.
func (c *Conditions) SetDefault(key, value string) {
	if _, ok := c.Get(key); !ok {
		*c = append(*c, Condition{key, value})
	}
}

// Get returns the value of a condition, and whether it is known.
func (c Conditions) Get(key string) (string, bool) {
	for _, have := range c {
		if have.Key == key {
			return have.Value, true
		}
	}
	return "", false
}

// Shown are the conditions that a reader needs: all but the package's name.
func (c Conditions) Shown() Conditions {
	var shown Conditions
	for _, have := range c {
		if have.Key != "pkg" {
			shown = append(shown, have)
		}
	}
	return shown
}
