package main

import "fmt"

// conditions describe the machine and the run, in the order of the input.
type conditions []condition

type condition struct {
	key, value string
}

// ofMachine are the conditions without which two figures cannot be compared.
var ofMachine = map[string]bool{
	"cpu": true, "goos": true, "goarch": true, "go": true, "gomaxprocs": true, "clocksource": true,
}

// add notes a condition. It is an error when the machine or the toolchain is
// another than before in the input.
func (c *conditions) add(key, value string) error {
	for _, have := range *c {
		if have.key != key || have.value == value {
			continue
		}
		if ofMachine[key] {
			return fmt.Errorf("%s is %q here and %q before: give only runs of one machine and one toolchain", key, value, have.value)
		}
		return nil
	}
	c.setDefault(key, value)
	return nil
}

// setDefault notes a condition unless it is known.
func (c *conditions) setDefault(key, value string) {
	if _, ok := c.get(key); !ok {
		*c = append(*c, condition{key, value})
	}
}

func (c conditions) get(key string) (string, bool) {
	for _, have := range c {
		if have.key == key {
			return have.value, true
		}
	}
	return "", false
}
